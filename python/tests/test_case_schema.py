"""The JSON schema of case files, as validators of others and editors take it."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/case.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
HEAD = 'format = 1\n[mesh]\nfile = "a.msh"\nunit = "mm"\n'


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("case", sorted((ROOT / "cases").glob("*.toml")), ids=lambda case: case.name)
def test_cases_fit(case):
    VALIDATOR.validate(tomllib.loads(case.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "body",
    [
        "[fmm]\ntolerance = 0.5",
        "[solver]\ntolerence = 1e-6",
        '[solver]\naccuracy_of = "beauty"',
        '[[conductor]]\nname = "a"\ngroup = "a"\npotential = 1\ncharge = 1',
        '[[film]]\nname = "f"\nthickness = 1\nrelative_permittivity = 2',
        '[[reduce]]\nname = "mutual"\ngrounded = "a"',
        '[[reduce]]\nname = "a_error"\ngrounded = "a"',
        '[[sweep]]\nname = "s"\nset = "medium.kappa"\nvalues = [1]',
        "[medium]\nrelative_permittivity = 2\n[stack]\nbelow = 2",
    ],
)
def test_mistakes_do_not(body):
    VALIDATOR.validate(tomllib.loads(HEAD))
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(tomllib.loads(HEAD + body))
