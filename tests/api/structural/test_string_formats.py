"""Formats of strings: texts that upstream accepts, and texts that it refuses."""

from __future__ import annotations

import pytest

from kube32_sim.api.structural.formats import format_check

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": [
        "http://somewhere.com",
        "https://user:pw@host:8080/a%20b?q=%zz#x",
        "mailto:someone@example.com",
        "/absolute/path",
        "http://[::1]:80/",
        "*",
        "urn:isbn:0451450523",
        "http://host:",
    ],
    "email": [
        "somebody@somewhere.com",
        "email+tag@gmail.com",
        '" "@example.com',
        '"Abc@def"@example.com',
        "!#$%&'*+-/=?^_`{}|~@example.com",
        "postmaster@☁→❄.ws",
        "root@localhost",
        "Joe Doe <joe@example.com>",
        '"Doe, Joe" <joe@example.com>',
        "<joe@example.com>",
    ],
    "hostname": ["somewhere.com", "1.2.com", "xn--ls8h.la", "☁→❄.ws", "ôlà.ôlà", "x-y", "<foo>", "x", "a.b-c-d.dot"],
    "ipv4": ["127.0.0.1", "192.168.1.01", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "2001:db8:a0b:12f0::1", "::ffff:1.2.3.4"],
    "cidr": ["192.168.254.2/24", "192.0.02.1/24", "2001:db8::/32"],
    "mac": ["01:02:03:04:05:06", "01-02-03-04-05-06-07-08", "0102.0304.0506"],
    "uuid": ["a8098c1a-f86e-11da-bd1a-00112444be1e", "A8098C1AF86E11DABD1A00112444BE1E"],
    "uuid3": ["6fa459ea-ee8a-3ca4-894e-db77e160355e"],
    "uuid4": ["16fd2706-8baf-433b-82eb-8c7fada847da"],
    "uuid5": ["886313e1-3b8a-5372-9b90-0c9aee199e5d"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043", "0-8044-2957-X"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111-1111-1111-1111", "4012-8888-8888-1881"],
    "ssn": ["111-11-1111", "999 99 9999", "111111111"],
    "hexcolor": ["#FFFFFF", "abc"],
    "rgbcolor": ["rgb(255,255,255)", "rgb( 0 , 1,20 )"],
    "byte": ["ZWxpemFiZXRocG9zZXk=", "YWJj"],
    "password": ["", "anything"],
    "date": ["2014-12-15", "2024-02-29", "0000-02-29"],
    "date-time": ["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00", "2014-12-15T19:30:20Z"],
    "duration": ["1h30m", "-1.5s", "0", "22 ns", "3 days", "1 week 2 hours", "5µs"],
    "quantity": ["10Gi", "1e3", "100m"],
    "k8s-short-name": ["a", "0--1", "a" * 63],
    "k8s-long-name": ["a.b", f"{'a' * 70}.b", "1.2"],
}
BAD = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "z07f1f77bcf86cd799439011"],
    "uri": [
        "",
        "somewhere.com",
        "http://a b/",
        "/a\n",
        "http://host:port/",
        ":/a",
        "/%zz",
        "http:///%g",
        "http://[::1",
    ],
    "email": ["somebody@somewhere@com", "", "a", "a@", "a..b@c", "a@b.", "Joe joe@example.com", "a." * 40],
    "hostname": [
        "",
        "somewhere.com!",
        "user@email.domain",
        "1.1.1.1",
        "a" * 256,
        f"x.y.{'a' * 64}",
        "www.example-.org",
        "www.--example.org",
        "-www",
        "www-",
        "www.ex ample.org",
        "_www.example.org",
        "www.詹姆斯.x",
        "x.",
        "my-host",
    ],
    "ipv4": ["198.168.254.2.2", "::1", "1.2.3.256"],
    "ipv6": ["127.0.0.1", "::1%eth0", "12345::"],
    "cidr": ["198.168.254.2", "1.2.3.4/33", "1.2.3.4/x", "1.2.3.4/"],
    "mac": ["01:02:03:04:05", "01:02-03:04:05:06", "0102.0304"],
    "uuid": ["not-a-uuid", "a8098c1a-f86e-11da-bd1a-00112444be1"],
    "uuid3": ["16fd2706-8baf-433b-82eb-8c7fada847da"],
    "uuid4": ["6fa459ea-ee8a-3ca4-894e-db77e160355e"],
    "uuid5": ["16fd2706-8baf-433b-82eb-8c7fada847da"],
    "isbn": ["836217463"],
    "isbn10": ["0321751044"],
    "isbn13": ["978-0321751042"],
    "creditcard": ["9999-9999-9999-999", "4111-1111-1111-1112"],
    "ssn": ["999 99 999"],
    "hexcolor": ["#fffffffz", "#ff"],
    "rgbcolor": ["rgb(300,0,0)", "rgb(0,0)"],
    "byte": ["ZWxpemFiZXRocG9zZXk", "YW-j", ""],
    "date": ["2014-13-15", "2023-02-29", "2014-12-15T00:00:00Z", "14-12-15"],
    "date-time": [
        "2014-12-15",
        "2014-12-15T24:00:00Z",
        "2014-12-15T19:60:20Z",
        "2014-12-15T19:30:20",
        "t",
        "t12:00:00z",
    ],
    "duration": ["", "1", "day", "3 parsecs", "h1"],
    "quantity": ["", "10X"],
    "k8s-short-name": ["", "A", "-a", "a.b", "a" * 64, "a\n"],
    "k8s-long-name": ["", "a..b", "A.b", "a" * 254],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_a_good_text(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert check(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_text(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert not check(text)


def test_a_format_that_nobody_knows() -> None:
    assert format_check("int-or-string") is None


@pytest.mark.parametrize(
    "text", ["1" * 1_000_000 + "!", "0" * 1_000_000 + "!", "1." + "0" * 1_000_000 + "E1!"], ids=len
)
def test_a_long_text_that_is_no_quantity(text: str) -> None:
    """One that is read in every way would never be done."""
    fits = format_check("quantity")
    assert fits is not None
    assert not fits(text)
