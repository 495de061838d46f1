"""Missed history told as events: whatever happened, they are in order, each under a revision of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.storage.etcd.renewal import Found, missed

MAPS = ("", "configmaps")


@given(
    before=st.sets(st.sampled_from("abcdef")),
    steps=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans())),
)
def test_the_events_lead_from_what_was_known_to_what_is_there(before: set, steps: list) -> None:
    since = 10
    known = {(MAPS, key): place + 1 for place, key in enumerate(sorted(before))}
    there = {place: Found(b"0", revision, revision) for place, revision in known.items()}
    for revision, (key, delete) in enumerate(steps, since + 1):
        place = (MAPS, key)
        if not delete:
            created = there[place].created if place in there else revision
            there[place] = Found(b"%d" % revision, created, revision)
        else:
            there.pop(place, None)
    events = missed(known, there, since)
    revisions = [event.revision for event in events]
    assert revisions == sorted(set(revisions))
    assert all(since < revision <= since + len(steps) for revision in revisions)
    state = {place: (b"0", revision) for place, revision in known.items()}
    for event in events:
        if event.content is None:
            del state[event.place]
        else:
            state[event.place] = (event.content, event.revision)
    assert state == {place: (found.content, found.revision) for place, found in there.items()}
    again = [place for place in known if place in there and there[place].created > since]
    for place in again:
        assert [event.content is None for event in events if event.place == place] == [True, False]
