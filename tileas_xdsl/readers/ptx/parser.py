"""
From the text of a PTX file to its statements (PTX ISA, "Syntax" and "Directives").

By hand, since a file is a list of statements that end with `;`, and what a token is depends on where it stands: opcodes
with `::`, labels in inline text, `.loc` up to the end of its line, debug sections. What opcodes mean is data, in
`instructions`. Errors have a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from math import prod

from tileas_xdsl.readers.ptx.syntax import (
    BITS,
    Extents,
    Function,
    Instruction,
    Label,
    Module,
    Parameter,
    Place,
    PtxError,
    Register,
    Scope,
    Targets,
    Variable,
)

COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
BLANK = re.compile(r"\s+")
NAME = r"[A-Za-z_$%][\w$]*"
LABEL = re.compile(rf"({NAME})\s*:(?!:)")
DIRECTIVE = re.compile(r"\.(\w+)")
TO_END_OF_LINE = re.compile(r"[^\n;]*;?")
TO_SEMICOLON = re.compile(r"[^;]*")
HEAD = re.compile(r"[^{;]*")
FUNCTION = re.compile(rf"(?:\(([^)]*)\)\s*)?({NAME})\s*(?:\(([^)]*)\))?(.*)", re.DOTALL)
INSTRUCTION = re.compile(rf"(?:@\s*(!?)\s*({NAME})\s+)?([A-Za-z][\w.:]*)\s*(.*)", re.DOTALL)
REGISTERS = re.compile(rf"({NAME})\s*(?:<\s*(\d+)\s*>)?\Z")
DECLARED = re.compile(
    rf"(?:\.\w+\s+)*?(?:\.align\s+(\d+)\s+)?\.(\w+)\s+({NAME})\s*((?:\[[^\]]*\]\s*)*)(=.*)?\Z", re.DOTALL
)
LOCATION = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\s+[^,]+,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
TUNING = (
    "minnctapersm",
    "maxnctapersm",
    "maxnreg",
    "noreturn",
    "explicitcluster",
    "blocksareclusters",
    "maxclusterrank",
)
"""Directives of a kernel that say nothing of what it does."""
LINKAGE = ("visible", "weak", "extern", "common")
SPACES = ("shared", "global", "const", "local", "tex", "param", "reg")
STATE_SPACES = (*LINKAGE, *SPACES)


def parse(text: str) -> Module:
    """The statements of `text`. Raises `PtxError`."""
    return _Parser(_without_comments(text)).module()


def _without_comments(text: str) -> str:
    """`text` with blanks for comments: every other character keeps its place."""
    blanked = COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)
    left = re.sub(r'"[^"\n]*"', "", blanked) if "/*" in blanked else ""
    if "/*" in left:
        raise PtxError(blanked.count("\n", 0, blanked.rindex("/*")) + 1, "a comment has no end")
    return blanked


@dataclass
class _Parser:
    text: str
    at: int = 0
    lines: list[int] = field(default_factory=list[int])
    """Where each line after the first begins."""

    def __post_init__(self) -> None:
        self.lines = [match.end() for match in re.finditer("\n", self.text)]

    def line(self, at: int) -> int:
        return bisect_right(self.lines, at) + 1

    def skip_blanks(self) -> bool:
        """Go to the next statement. Returns whether there is one."""
        match = BLANK.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return self.at < len(self.text)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]

    def statement(self, what: str) -> str:
        """The text up to the next `;`, which is taken as well."""
        start = self.at
        taken = self.take(TO_SEMICOLON)
        if self.at == len(self.text):
            raise PtxError(self.line(start), f"{what} has no end: a ';' is missing, or the text is cut off")
        self.at += 1
        return taken

    # Modules ----------------------------------------------------------------------------------------------------------

    def module(self) -> Module:
        module = Module("")
        while self.skip_blanks():
            start = self.at
            match = DIRECTIVE.match(self.text, start)
            if match is None:
                raise PtxError(self.line(start), f"expected a directive, got '{self._excerpt(start)}'")
            word = match[1]
            if not module.version and word != "version":
                raise PtxError(self.line(start), "a PTX text begins with '.version'")
            self._directive(module, word)
        if not module.version:
            raise PtxError(None, "the file has no statement; a PTX text begins with '.version'")
        return module

    def _excerpt(self, at: int) -> str:
        return self.text[at : at + 40].split("\n")[0].rstrip()

    def _directive(self, module: Module, word: str) -> None:
        start = self.at
        if word in ("version", "target", "address_size"):
            self._heading(module, word)
        elif word == "file":
            self._file(module)
        elif word == "loc":
            self.take(TO_END_OF_LINE)
        elif word == "section":
            self._section()
        elif word in ("alias", "pragma"):
            self.statement(f"'.{word}'")
        elif word in STATE_SPACES or word in ("entry", "func"):
            self._declaration(module, start)
        else:
            raise PtxError(self.line(start), f"'.{word}' is no directive that is known here")

    def _heading(self, module: Module, word: str) -> None:
        line = self.line(self.at)
        value = self.take(TO_END_OF_LINE).partition(word)[2].strip(" \t\r;")
        if word == "version":
            if re.fullmatch(r"\d+\.\d+", value) is None:
                raise PtxError(line, f"'.version {value}' is no version; PTX has versions as 8.0")
            module.version = value
        elif word == "target":
            module.target = value.split(",")[0].strip()
            if re.fullmatch(r"sm_\d+[af]?", module.target) is None:
                raise PtxError(line, f"'.target {value}' names no chip, as sm_90a")
        elif value != "64":
            raise PtxError(line, f"addresses of {value} bits are not read; 64 is")

    def _file(self, module: Module) -> None:
        match = FILE.match(self.take(TO_END_OF_LINE))
        if match is not None:
            module.files[int(match[1])] = match[2]

    def _section(self) -> None:
        start = self.at
        end = self.text.find("}", start)
        if end < 0:
            raise PtxError(self.line(start), "'.section' has no end: the text is cut off")
        self.at = end + 1

    def _declaration(self, module: Module, start: int) -> None:
        """A variable, a kernel or a function."""
        head = HEAD.match(self.text, start)
        assert head is not None
        is_kernel = re.search(r"\.entry\b", head[0])
        is_function = is_kernel or re.search(r"\.func\b", head[0])
        if is_function is None:
            module.variables += self._variables(self.statement("a variable"), self.line(start))
            return
        self.at = head.end()
        if self.at == len(self.text):
            raise PtxError(self.line(start), "the text ends before the body of the function that begins here")
        function = self._head(head[0][is_function.end() :].strip(), self.line(start), is_kernel is not None)
        if self.text[self.at] == ";":
            self.at += 1
            return
        module.functions.append(function)
        self._body(module, function)

    def _variables(self, text: str, line: int) -> list[Variable]:
        words = re.findall(r"\.(\w+)", text)
        space = next((word for word in words if word in SPACES), None)
        match = DECLARED.match(" ".join(text.split()))
        if space is None or match is None or match[2] in STATE_SPACES:
            raise PtxError(line, f"'{' '.join(text.split())[:60]}' declares no variable as it is known here")
        alignment, kind, name, extents, _ = match.groups()
        if kind not in BITS:
            return []  # textures, samplers, surfaces: an instruction that uses one is refused
        sizes = [int(size or "0", 0) for size in re.findall(r"\[\s*(\w*)\s*\]", extents)]
        size = BITS[kind] // 8 * prod(sizes)
        return [Variable(name, space, size, int(alignment or BITS[kind] // 8), line)]

    # Functions --------------------------------------------------------------------------------------------------------

    def _head(self, text: str, line: int, is_kernel: bool) -> Function:
        match = FUNCTION.match(text)
        if match is None:
            raise PtxError(line, "a function has no name")
        results, name, parameters, rest = match.groups()
        function = Function(name, line, is_kernel, self._parameters(parameters or "", line))
        function.results = self._parameters(results or "", line)
        for word, numbers in re.findall(r"\.(\w+)([^.]*)", rest):
            if word == "reqntid":
                function.block = self._extents(numbers, word, line)
            elif word == "maxntid":
                function.most_threads = self._extents(numbers, word, line)
            elif word == "reqnctapercluster":
                function.cluster = self._extents(numbers, word, line)
            elif word not in TUNING and word != "pragma":
                raise PtxError(line, f"'.{word}' is no directive of a function that is known here")
        return function

    def _extents(self, text: str, word: str, line: int) -> Extents:
        numbers = [part.strip() for part in text.split(",")]
        if not 1 <= len(numbers) <= 3 or not all(number.isdecimal() and int(number) for number in numbers):
            raise PtxError(line, f"'.{word}{text.rstrip()}' does not have one to three numbers from 1 on")
        return tuple(map(int, numbers))

    def _parameters(self, text: str, line: int) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        for number, part in enumerate(filter(str.strip, text.split(","))):
            words = part.split()
            kind = next((word[1:] for word in words if word[1:] in BITS), None)
            match = re.search(rf"({NAME})\s*(\[\s*(\d*)\s*\])?\s*\Z", part)
            if kind is None or match is None or (".param" not in words and ".reg" not in words):
                raise PtxError(line, f"'{' '.join(words)}' is no parameter that is known here")
            size = BITS[kind] // 8 * (int(match[3] or 0) if match[2] else 1)
            found.append(Parameter(match[1], number, size, match[2] is not None))
        return tuple(found)

    # Bodies -----------------------------------------------------------------------------------------------------------

    def _body(self, module: Module, function: Function) -> None:
        scope: Scope | None = None
        place: Place | None = None
        text = self.text
        while self.skip_blanks():
            start, first = self.at, text[self.at]
            if first == "{":
                self.at, scope = start + 1, Scope(scope)
                continue
            assert scope is not None
            if first == "}":
                self.at, scope = start + 1, scope.parent
                if scope is None:
                    return
            elif first == ";":
                self.at += 1
            elif first == ".":
                place = self._directive_of_body(module, function, scope, place)
            elif (match := LABEL.match(text, start)) is not None:
                self.at = match.end()
                self._label(function, scope, match[1], self.line(start))
            else:
                line = self.line(start)
                function.body.append(self._instruction(self._statement_in(function), line, scope, place))
        raise self._cut_off(function)

    def _cut_off(self, function: Function) -> PtxError:
        return PtxError(function.line, f"the text ends within the body of '{function.name[:60]}', which begins here")

    def _statement_in(self, function: Function) -> str:
        taken = self.take(TO_SEMICOLON)
        if self.at == len(self.text):
            raise self._cut_off(function)
        self.at += 1
        return taken

    def _label(self, function: Function, scope: Scope, name: str, line: int) -> None:
        self.skip_blanks()
        for word, pattern in ((".branchtargets", r"\.branchtargets\s+(.*)"), (".callprototype", r"\.callprototype.*")):
            if self.text.startswith(word, self.at):
                match = re.match(pattern, self._statement_in(function), re.DOTALL)
                if word == ".branchtargets" and match is not None:
                    function.targets[name] = Targets(tuple(part.strip() for part in match[1].split(",")))
                return
        if name in scope.labels:
            raise PtxError(line, f"the label '{name}' is there twice, at line {scope.labels[name].line} first")
        scope.labels[name] = label = Label(name, line)
        function.body.append(label)

    def _directive_of_body(self, module: Module, function: Function, scope: Scope, place: Place | None) -> Place | None:
        """Read it. Returns the place of what follows."""
        start = self.at
        match = DIRECTIVE.match(self.text, start)
        word = match[1] if match is not None else ""
        if word == "loc":
            return self._location(self.take(TO_END_OF_LINE), self.line(start), place)
        if word == "file":
            self._file(module)
            return place
        line = self.line(start)
        text = self._statement_in(function)
        if word == "reg":
            self._registers(text, line, scope)
        elif word in ("shared", "local", "global", "const", "param", "extern"):
            function.variables += self._variables(text, line)
        elif word not in ("pragma", "noreturn"):
            raise PtxError(line, f"'.{word}' is no directive that is known here")
        return place

    def _location(self, text: str, line: int, before: Place | None) -> Place | None:
        """A place; a call that it is inlined at may itself be inlined where the place `before` it says."""
        match = LOCATION.match(text)
        if match is None:
            raise PtxError(line, f"'{text.strip()}' is no location, as .loc 1 12 3")
        numbers = [int(number or 0) for number in match.groups()]
        file, row, column, *caller = numbers
        if match[4] is None:
            return Place(file, row, column)
        around = before
        while around is not None and [around.file, around.line, around.column] != caller:
            around = around.inlined_at
        return Place(file, row, column, around or Place(caller[0], caller[1], caller[2]))

    def _registers(self, text: str, line: int, scope: Scope) -> None:
        match = re.match(r"\.reg\s+(?:\.v([24])\s+)?\.(\w+)\s+(.*)", text, re.DOTALL)
        if match is None or match[2] not in BITS or match[1] is not None:
            raise PtxError(line, f"'{text.strip()[:60]}' declares no registers as they are known here")
        bits = BITS[match[2]]
        for part in match[3].split(","):
            one = REGISTERS.match(part.strip())
            if one is None:
                raise PtxError(line, f"'{part.strip()[:60]}' is no name of registers")
            if one[2] is None:
                scope.registers[one[1]] = Register(one[1], bits)
            else:
                scope.families[one[1]] = (int(one[2]), bits)

    def _instruction(self, text: str, line: int, scope: Scope, place: Place | None) -> Instruction:
        match = INSTRUCTION.match(text)
        if match is None:
            raise PtxError(line, f"'{' '.join(text.split())[:60]}' is no instruction")
        negated, guard, name, operands = match.groups()
        return Instruction(
            line,
            scope,
            None if guard is None else f"{negated}{guard}",
            tuple(name.split(".")),
            operands,
            place,
        )
