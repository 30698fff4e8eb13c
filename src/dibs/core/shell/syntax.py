"""Parse a shell command into steps in order: simple commands, loops, and the bounds of subshells.

Pure; never raises, and takes time proportional to the length of the text. It is not a shell: functions are
read as if they also ran where they are defined, and both branches of a condition as if both ran.
"""

from __future__ import annotations

from dibs.core.shell.word_reader import BREAKS, WordReader
from dibs.core.shell.words import END, HOLE, MASK, QUOTED, RUN, RUN_QUOTED, VAR
from dibs.startup.records import TextEnum

_MARKS = str.maketrans(dict.fromkeys(map(ord, (MASK, VAR, QUOTED, RUN, END, HOLE, RUN_QUOTED))))
#: The deepest nesting that is parsed.
DEEPEST = 60
#: The most words in a command, and the most commands.
_MOST = 20_000
_LEADERS = frozenset({
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time",
    "esac", "coproc", "-p",  # time -p
})  # fmt: skip


class StepKind(metaclass=TextEnum):
    """The kind of a step."""

    COMMAND = "command"
    LOOP = "loop"
    #: A subshell: its variables and current folder end with it.
    OPEN = "open"
    CLOSE = "close"
    #: The end of a function: its name and steps.
    FUNCTION = "function"


class ShellStep:
    """One step; a loop's ``words`` are its variable and then its values."""

    __slots__ = ("body", "kind", "piped", "redirects", "stdin", "words")

    def __init__(self, kind: str = StepKind.COMMAND) -> None:
        self.kind = kind
        self.words: list[str] = []
        self.redirects: list[tuple[str, str]] = []
        #: Its here-document, as written; None without one.
        self.stdin: str | None = None
        #: Whether it reads what the command before it writes.
        self.piped = False
        #: The steps of a function.
        self.body: list[ShellStep] = []


class _TooMuch(Exception):
    """The text is too long or too deeply nested; never raised outside this module."""


def parse(text: str) -> tuple[list[ShellStep], bool]:
    """Return the steps of a command, and whether all of its text was understood."""
    scanner = _Scanner(text.translate(_MARKS), 0)
    try:
        scanner.steps_until("")
    except _TooMuch:
        scanner.whole = False
    return scanner.steps, scanner.whole


class _Scanner(WordReader):
    """Reads one text from left to right."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text)
        self.depth = depth
        self.steps: list[ShellStep] = []
        self._cases = 0
        #: The function that the next brace opens, and for each open brace its function and first step.
        self._named = ""
        self._braces: list[tuple[str, int]] = []
        #: Here-documents whose bodies start on the next line: command, end marker, whether tabs are stripped.
        self._awaited: list[tuple[ShellStep, str, bool]] = []

    def steps_until(self, closer: str) -> None:
        """Read commands up to ``closer``, or to the end of the text."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise _TooMuch
        step = ShellStep()
        text, end = self.text, len(self.text)
        while self.at < end:
            c = text[self.at]
            if c in " \t\r":
                self.at += 1
            elif c in ";&|\n" and text[self.at : self.at + 2] != "&>":
                step = self._separated(step, c)
            elif c == "(":
                step = self._opened(step)
            elif c == ")":
                self.at += 1
                if closer:
                    break
            elif c == "#":
                newline = text.find("\n", self.at)
                self.at = end if newline < 0 else newline
            else:
                self._more(step, c)
        else:
            self.whole = self.whole and not closer
        self._finish(step)
        self.depth -= 1

    def _separated(self, step: ShellStep, c: str) -> ShellStep:
        """End a command at a separator; return the next."""
        two = self.text[self.at : self.at + 2]
        self._finish(step)
        following = ShellStep()
        following.piped = c == "|" and two != "||"
        self.at += 2 if two in {"&&", "||", ";;", "|&", ";&"} else 1
        if c == "\n":
            self._read_documents()
            following.piped = step.piped and not step.words
        elif two in {";;", ";&"} and self._cases:
            self.at += self.text.startswith("&", self.at)
            self._skip_pattern()
        return following

    def _opened(self, step: ShellStep) -> ShellStep:
        """Read what follows an open parenthesis: a subshell, arithmetic, or a function."""
        if step.words:
            closing = self.text.find(")", self.at)
            if closing > 0 and not self.text[self.at + 1 : closing].strip():
                self.at = closing + 1
                self._named = step.words[-1]
                return ShellStep()
        elif self.text.startswith("((", self.at):
            self.skip_arithmetic(self.at + 2)
            return step
        self.at += 1
        self.nested()
        return step

    def nested(self) -> None:
        """Read the commands of a subshell, up to its closing parenthesis."""
        self._check_size()
        self.steps.append(ShellStep(StepKind.OPEN))
        self.steps_until(")")
        self.steps.append(ShellStep(StepKind.CLOSE))

    def inner(self, text: str, *, quoted: bool) -> None:
        """Read the commands in a nested text; if it is ``quoted``, only command substitutions."""
        self._check_size()
        inner = _Scanner(text, self.depth + quoted)
        if quoted:
            inner.quoted("")
            self.steps += inner.steps
        else:
            inner.steps_until("")
            self.steps += [ShellStep(StepKind.OPEN), *inner.steps, ShellStep(StepKind.CLOSE)]
        self.whole = self.whole and inner.whole

    def _check_size(self) -> None:
        if self.depth + 1 > DEEPEST or len(self.steps) > _MOST:
            raise _TooMuch

    def _more(self, step: ShellStep, c: str) -> None:
        """Read one more word or redirection of a command."""
        text = self.text
        if c in "<>" and text.startswith("(", self.at + 1):
            self.at += 2
            self.nested()
            step.words.append(HOLE)
            return
        if c in "<>&":
            self._redirect(step)
            return
        begin = self.at
        word = self.word()
        if text[self.at : self.at + 1] in {"<", ">"} and _is_descriptor(text[begin : self.at]):
            return
        if word.endswith("=") and text.startswith("(", self.at):
            self._array(step, word)
            return
        if not step.words and word in _LEADERS:
            self._cases -= word == "esac" and self._cases > 0
            self._brace(word)
            return
        step.words.append(word)
        words = step.words
        if len(words) > _MOST:
            self._finish(step)
            raise _TooMuch
        if words == ["[["]:
            closing = text.find("]]", self.at)
            if closing >= 0:
                inside = text[self.at : closing]
                self.run_within(inside)
                self.whole = self.whole and "<(" not in inside and ">(" not in inside
                self.at = closing + 2
        elif len(words) == 3 and words[0] == "case" and words[2] == "in":  # noqa: PLR2004
            words.clear()
            self._cases += 1
            self._skip_pattern()

    def _brace(self, word: str) -> None:
        """Note where a function begins, and add it where it ends."""
        if word == "{":
            self._braces.append((self._named, len(self.steps)))
            self._named = ""
        elif word == "}" and self._braces:
            name, begin = self._braces.pop()
            if name:
                step = ShellStep(StepKind.FUNCTION)
                step.words, step.body = [name], self.steps[begin:]
                self.steps.append(step)

    def _array(self, step: ShellStep, word: str) -> None:
        """Read ``name=(…)``; the variable has each of the words as a value."""
        self.at += 1
        values = ShellStep(StepKind.LOOP)
        values.words.append(word.removesuffix("=").removesuffix("+"))
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] in BREAKS:
                self.at += 1
            else:
                values.words.append(self.word())
        self.at += 1
        if not step.words:
            self.steps.append(values)

    def _redirect(self, step: ShellStep) -> None:
        text = self.text
        sign = next(
            s
            for s in ("&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<>", "<&", ">", "<", "&")
            if text.startswith(s, self.at)
        )
        self.at += len(sign)
        self._skip_blanks()
        begin = self.at
        if sign == "<" and text.startswith("<(", begin):
            self.at += 2
            self.nested()
            step.redirects.append(("<(", text[begin + 2 : self.at - 1]))
            return
        word = self.word() if self.at < len(text) and text[self.at] not in BREAKS else ""
        if sign in {"<<", "<<-"}:
            end = _bare(word) if word else ""
            quoted = any(c in text[begin : self.at] for c in "'\"\\")
            self._awaited.append((step, end, sign == "<<-"))
            step.redirects.append(("<<'" if quoted else "<<", ""))
        elif sign == "<<<":
            step.stdin = _bare(word)
        elif word and len(step.redirects) < _MOST:
            step.redirects.append((sign, word))

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def _read_documents(self) -> None:
        """Read the bodies of the previous line's here-documents."""
        for step, ending, tabs in self._awaited:
            lines: list[str] = []
            while self.at < len(self.text):
                newline = self.text.find("\n", self.at)
                stop = len(self.text) if newline < 0 else newline
                line = self.text[self.at : stop]
                self.at = stop + 1
                line = line.lstrip("\t") if tabs else line
                if line.rstrip("\r") == ending:
                    break
                lines.append(line)
            else:
                self.whole = False
            step.stdin = "\n".join([*lines, ""])
            if ("<<", "") in step.redirects:
                self.run_within(step.stdin)
        self._awaited.clear()

    def _finish(self, step: ShellStep) -> None:
        """Add a complete command."""
        words = step.words
        if words and words[0] == "function":
            self._named = "".join(words[1:2])
            self._brace("".join(words[2:3]))
            del words[: 3 if words[2:3] == ["{"] else 2]
        elif len(words) > 1 and words[0] in {"for", "select"}:
            step.kind = StepKind.LOOP
            step.words = [words[1], *(words[3:] if len(words) > 2 else [f"{QUOTED}@{END}"])]  # noqa: PLR2004
        if step.words or step.redirects or step.stdin is not None:
            self.steps.append(step)
        if len(self.steps) > _MOST:
            raise _TooMuch

    def _skip_pattern(self) -> None:
        """Skip the pattern of a ``case`` branch."""
        text = self.text
        while self.at < len(text) and text[self.at] in " \t\r\n(":
            self.at += 1
        if text.startswith("esac", self.at):
            return
        closing = text.find(")", self.at)
        stop = closing if closing >= 0 else len(text)
        self.run_within(text[self.at : stop])
        self.at = stop + 1


def _bare(word: str) -> str:
    """Return a word as text, without its marks."""
    return word.replace(MASK, "")


def _is_descriptor(raw: str) -> bool:
    return raw.isdigit() or (raw.startswith("{") and raw.endswith("}"))
