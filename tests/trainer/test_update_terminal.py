"""What the command line shows of how far an update is."""

import io

from trainer.update.terminal import Terminal


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_renews_itself() -> None:
    stream = Tty()
    terminal = Terminal(stream)
    terminal.show("learning", 0.254, 80.4)
    terminal.show("learning", 0.5, 9)
    terminal.say("model v: better")
    terminal.say("and active")
    terminal.show("the report", 1.0, None)
    terminal.close()
    assert stream.getvalue() == (
        "\r\x1b[K 25% learning, about 1:20 left\r\x1b[K 50% learning, about 9 s left\r\x1b[Kmodel v: better\n"
        "and active\n\r\x1b[K100% the report\r\x1b[K"
    )


def test_elsewhere_there_is_a_line_when_something_is_new_and_every_few_seconds() -> None:
    stream, now = io.StringIO(), 0.0
    terminal = Terminal(stream, clock=lambda: now)
    for second in range(12):
        now = float(second)
        terminal.show("reading" if second < 2 else "learning", second / 12, None)
    assert [line[5:] for line in stream.getvalue().splitlines()] == ["reading", "learning", "learning"]


def test_who_sees_it_elsewhere_is_shown_only_what_is_said() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, quiet=True)
    terminal.show("learning", 0.5, None)
    terminal.say("done")
    terminal.close()
    assert stream.getvalue() == "done\n"
