"""The options of `kube32-sim why`."""

from __future__ import annotations

from kube32_sim.arguments.parser import WHERE, Commands, add_command, add_output, add_server


def add(commands: Commands) -> None:
    about = "tell why a pod is where it is, or is not any more, or waits"
    parser = add_command(
        commands,
        "why",
        about,
        f"{WHERE}\n\nexamples:\n  %(prog)s pod/blinky\n  %(prog)s blinky-5ffcfbb848-cv6x9 -n lab -o yaml",
        "pod/NAME [OPTION]...",
    )
    parser.add_argument("pod", metavar="pod/NAME", help="which pod; just NAME will do")
    namespace = "its namespace (default: the kubeconfig's, or default)"
    parser.add_argument("-n", "--namespace", default="", metavar="NAME", help=namespace)
    parser.add_argument("--uid", default="", metavar="UID", help="its uid, of several pods that had the name")
    add_output(parser)
    add_server(parser)
