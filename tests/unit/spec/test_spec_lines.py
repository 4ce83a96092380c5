"""Errors in a spec file name the file, the line and the key."""

from pathlib import Path

import pytest

from core_mondrian import SpecError, load_spec
from core_mondrian.cli.options import build_spec

START = 'quasi_identifiers = ["a", "b"]\nk = 3\n'


def refused(text: str, tmp_path: Path) -> str:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_spec(file)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("\nkk = 1", "spec s.toml, line 4: unknown key 'kk'"),
        ('[paper]\n\nx = 1\n[x]\npolicy="paper"', "line 6: unknown key 'x'"),
        ('policy = "paper"\n[paper]\nx = 1', "line 5: unknown key 'paper.x'"),
        ('suppress = "some"', "line 3: suppress is neither"),
        ("inline_below = -1", "line 3: inline_below is"),
        ("exclude = 3", "line 3: exclude is a list of texts"),
        ('exclude = ["z"]', "line 3: exclude for ['z']"),
        ("unit = 'a'", "line 3: column 'a' named twice"),
        ('identifiers = [\n"b"]', "line 3: column 'b' named twice"),
        ('policy = "best?"', "line 3: policy is one of"),
        ("[original]", "line 3: [original] is given, but the policy"),
        ("[best]\nbeta = -1", "line 4: best.beta lies"),
        ("best.effort = 'x'", "line 3: best.effort is one of"),
        (
            'policy="paper"\n[paper]\nmax_bin_edges="x"',
            "line 5: paper.max_bin_edges is a whole number",
        ),
        ('[numbers]\ndefault = "mean"\nb = "x"', "line 5: numbers of 'b' is one of"),
        ("[weights]\na = 0", "line 4: the weight of 'a'"),
        ("[thresholds]\nnmi = 2", "line 4: thresholds.nmi lies"),
        ("[thresholds]\n'nmii' = 2", "line 4: unknown key 'thresholds.nmii'"),
        ("[hierarchies]\na = 1", "line 4: hierarchies.a is not a hierarchy"),
        ("[[models]]\nname = 'k-anonymity'\nk = 1", "line 5: k-anonymity needs k >= 2"),
        ("[[models]]\nname = 'x'", "line 4, key 'models.0.name': no model 'x'"),
        ("[[models]]\nt = 1", "line 3, key 'models.0': a model has no name"),
        (
            "[[models]]\nname = 'k-anonymity'\nk = 2\n"
            "[[models]]\nname='t-closeness'\nt=0.1\nq=1",
            "line 9: the model 't-closeness' has no 'q'",
        ),
        ("k = 4\n", "(at line 3, column 6)"),
        ("x = \n", "(at line 3, column 5)"),
    ],
)
def test_errors_name_the_line(more: str, told: str, tmp_path: Path) -> None:
    assert told in refused(START + more, tmp_path)


def test_without_a_key_to_blame_the_file_is_named(tmp_path: Path) -> None:
    assert refused('quasi_identifiers = ["a"]', tmp_path).startswith(
        "spec s.toml: k is missing"
    )


def test_k_of_the_file_is_found_and_that_of_a_flag_is_not(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('k = 1\nquasi_identifiers = ["a"]\n[best]\nbeta = -1\n')

    with pytest.raises(SpecError, match=r"s\.toml, line 1: k-anonymity"):
        build_spec(file, {}, [])
    with pytest.raises(SpecError, match=r"^k-anonymity needs k >= 2, got k=0"):
        build_spec(file, {"k": 0}, [])
    with pytest.raises(SpecError, match=r"^best\.beta lies"):
        build_spec(file, {"k": 2, "best": {"beta": -2}}, [])
    with pytest.raises(SpecError, match=r"line 4: best\.beta lies"):
        build_spec(file, {"k": 2, "best": {"effort": "max"}}, [])
