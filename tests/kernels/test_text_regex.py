"""Regular expressions in RE2's syntax, held against Python's ``re`` where the two agree."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.kernels.registry import Unsupported
from opcheck.kernels.text_regex import compile_pattern

#: Patterns that mean the same in both syntaxes, when a string has no newline.
ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-c]", "(?:)", r"\x61", r"\.", "^", "$"])


def joined(inner):
    quantifiers = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{0,1}", "{2,}"])
    return (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})")
        | st.tuples(inner, quantifiers).map(lambda p: f"(?:{p[0]}){p[1]}")
        | inner.map(lambda p: f"({p})")
    )


@given(st.recursive(ATOMS, joined, max_leaves=8), st.text(st.sampled_from("abc."), max_size=7))
@settings(deadline=None, max_examples=600)
def test_the_same_strings_match_as_in_python(pattern, text):
    assert compile_pattern(pattern)(text) == bool(re.fullmatch(pattern, text))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        # The end is the end, not before a newline.
        ("a$", ["a"], ["a\n"]),
        (r"a\z", ["a"], ["a\n"]),
        (r"\Aa(?s).", ["ab", "a\n"], ["a"]),
        (".", ["a", "é", "\U0001f600", "\0"], ["\n", "", "ab"]),
        ("(?s).", ["\n"], [""]),
        ("[^a]", ["\n", "b"], ["a"]),
        (r"\D", ["\n", "٣"], ["3"]),
        # Classes are those of ASCII.
        (r"\d", ["0", "9"], ["٣", "a"]),
        (r"\w", ["a", "_", "7"], ["é", "-"]),
        (r"\s", [" ", "\t", "\n", "\f", "\r"], ["\v", "\u00a0"]),
        ("[[:space:]]", [" ", "\v"], ["\u00a0", ":"]),
        ("[[:^digit:]]", ["a", "\n"], ["5"]),
        ("[[:punct:]]", list("!/:@[`{~"), list("aA0 ")),
        ("[[:word:]]", ["_"], ["-"]),
        (r"[\d\-x]+", ["1-x"], ["a"]),
        (r"[^\D]", ["5"], ["a"]),
        # Brackets.
        ("[]a]+", ["]a"], ["b"]),
        ("[^]a]", ["b"], ["]", "a"]),
        ("[-a]+", ["-a"], ["b"]),
        ("[a-]+", ["-a"], ["b"]),
        (r"[\x{61}-\x63]", ["a", "b", "c"], ["d", "x"]),
        ("[[]", ["["], ["]"]),
        # Escapes.
        (r"\x41\x{263a}", ["A☺"], ["A"]),
        (r"\101\07\0", ["A\a\0"], ["A"]),
        (r"\a\f\t\n\r\v", ["\a\f\t\n\r\v"], [""]),
        (r"\_\-\.", ["_-."], ["_-x"]),
        (r"\Qa.b*\E+", ["a.b*", "a.b**"], ["axb*"]),
        (r"\Qa.b", ["a.b"], ["axb"]),
        # Not a repetition.
        ("x{,2}", ["x{,2}"], ["x", "xx"]),
        ("x{a}", ["x{a}"], ["x"]),
        ("x{1", ["x{1"], ["x"]),
        # Flags and groups.
        ("(?i)a(?-i)b", ["ab", "Ab"], ["AB"]),
        ("(?i:a)b", ["Ab"], ["AB"]),
        ("((?i)a)b", ["Ab"], ["AB"]),
        ("(?i)[a-z]", ["K", "\u212a", "ſ"], ["é"]),
        ("(?i)[^k]", ["a"], ["k", "K", "\u212a"]),
        ("(?i)É", ["é"], ["e"]),
        ("(?i)σ", ["Σ", "ς"], ["s"]),
        ("(?P<n>a)(?<m>b)(?:c)", ["abc"], ["ab"]),
        ("(?m)a$\n^b", ["a\nb"], ["ab"]),
        ("(?sm-i)a", ["a"], ["A"]),
        ("(?U)a*", ["", "aa"], ["b"]),
        ("a$\n^b", [], ["a\nb"]),
        (r"a\b.?", ["a", "a-", "aé"], ["ab"]),
        (r"\B", [""], ["a"]),
        (r"a\Bb", ["ab"], ["a b"]),
        # Unicode.
        (r"\pL+", ["aé中"], ["1"]),
        (r"\p{Lu}\P{Lu}", ["Aa", "É "], ["AA"]),
        (r"\p{^L}", ["1"], ["a"]),
        (r"[\pN\p{Zs}]", ["٣", " "], ["a"]),
        (r"\p{Any}", ["a", "\n"], [""]),
        # Alternatives.
        ("", [""], ["a"]),
        ("a||b", ["", "a", "b"], ["ab"]),
        ("^*a", ["a"], ["aa"]),
    ],
)
def test_the_syntax_of_re2(pattern, matching, others):
    """Each line of the syntax page that has a meaning of its own in RE2."""
    matches = compile_pattern(pattern)
    assert [text for text in matching if not matches(text)] == []
    assert [text for text in others if matches(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1", r"\8", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#x)", "(?P=n)", "(?)",
        "(?P<a>x)(?P<a>y)", "(?P<a-b>x)", "(?x)a", "(?i", "(?-)", "a**", "a+*", "a{2}{3}", "a++",
        "*a", "+", "?", "{2}", "a|*", "(*)", "(a", "a)", "[a", "[z-a]", "[a-\\d]", "[[:foo:]]",
        "[", "[]", "[^]", "\\", r"\Z", r"\G", r"\y", r"[\b]", r"\x", r"\xg", r"\x{110000}",
        r"\x{", r"\é", "a{1001}", "a{2,1}", "a{1001,}", "(a{100}){11}", "((a{10}){10}){11}",
        r"\p{L", r"\p",
    ],
)  # fmt: skip
def test_what_re2_refuses(pattern):
    with pytest.raises(ValueError, match="RE2 does not accept"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"\p{Greek}", r"\pX", r"\C", "(" * 101 + ")" * 101])
def test_what_is_left_out(pattern):
    """Valid in RE2, and not here: the message says so."""
    with pytest.raises(Unsupported):
        compile_pattern(pattern)


def test_the_size_of_an_automaton_is_bounded():
    with pytest.raises(ValueError, match="too large"):
        compile_pattern("(?:" + "a" * 400 + "){1000}")


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b", "(?:a?){500}a{500}b", "(.*)(.*)(.*)x"])
def test_no_pattern_backtracks(pattern):
    """A backtracking engine needs ages; here the time grows with text times pattern."""
    start = time.perf_counter()
    assert not compile_pattern(pattern)("a" * 300)
    assert time.perf_counter() - start < 20
