"""Models of pydantic, 1 or 2, whichever is installed."""

import datetime
from typing import Any, Dict, List, Optional

import pytest
from sources import function_source

from cog import Path, Secret
from cog._worker.schema.document import openapi
from cog._worker.values.encode import encode
from cog.errors import OutputError

pydantic = pytest.importorskip("pydantic")
V2 = hasattr(pydantic, "RootModel")


class Item(pydantic.BaseModel):
    a: int
    p: Any = None


class Outer(pydantic.BaseModel):
    items: List[Item]
    token: pydantic.SecretStr = pydantic.SecretStr("hunter2")
    when: datetime.date = datetime.date(2020, 1, 2)
    by_name: Dict[str, Item] = {}
    note: Optional[str] = pydantic.Field(default=None, alias="Note")


def test_values(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hi")
    found = encode([Outer(items=[Item(a=1, p=Path(tmp_path / "a.txt"))], Note="n")])
    item = {"a": 1, "p": "data:text/plain;base64,aGk="}
    rest = {"token": "**********", "when": "2020-01-02", "by_name": {}, "note": "n"}
    assert found == [{"items": [item], **rest}]


def test_urls():
    class Link(pydantic.BaseModel):
        url: pydantic.HttpUrl

    assert encode(Link(url="https://x.test/a")) == {"url": "https://x.test/a"}


def test_place_of_a_refusal():
    with pytest.raises(OutputError, match=r"output\.items\[0\]\.p is of type bytes"):
        encode(Outer(items=[Item(a=1, p=b"")]))
    with pytest.raises(OutputError, match=r"output\.by_name\.x\.p is nan"):
        encode(Outer(items=[], by_name={"x": Item(a=1, p=float("nan"))}))


def test_root_model():
    if V2:
        assert encode(pydantic.RootModel[List[str]](["a"])) == ["a"]
    else:

        class Names(pydantic.BaseModel):
            __root__: List[str]

        assert encode(Names(__root__=["a"])) == ["a"]


def test_dataclass_of_pydantic():
    import pydantic.dataclasses

    @pydantic.dataclasses.dataclass
    class Box:
        left: int

    assert encode(Box(left=1)) == {"left": 1}


def test_secret_in_a_model_of_pydantic():
    class Settings(pydantic.BaseModel):
        token: Secret
        other: Optional[Secret] = None

    settings = Settings(token=Secret("a"))
    assert settings.token.get_secret_value() == "a"
    assert encode(settings) == {"token": "**********", "other": None}
    if V2:
        assert settings.model_dump_json() == '{"token":"**********","other":null}'
    with pytest.raises(ValueError, match="token"):
        Settings(token=5)


def test_aliases_and_constraints_are_not_in_the_way(model):
    source = function_source(
        returns="Out",
        before="""
import pydantic
class Base(pydantic.BaseModel):
    shared: int

class Out(Base):
    score: float = pydantic.Field(ge=0, alias="Score")
    tags: List[str] = []
    kind: Literal["a", "b"]
    other: Optional[Dict[str, Any]]
    url: pydantic.HttpUrl
    token: pydantic.SecretStr
""",
    )
    output = openapi(model(source))["components"]["schemas"]["Output"]
    assert list(output["properties"]) == [
        "shared", "score", "tags", "kind", "other", "url", "token",
    ]  # fmt: skip
    assert output["properties"]["score"] == {"title": "Score", "type": "number"}
    assert output["properties"]["url"]["type"] == "string"
    assert output["properties"]["token"]["format"] == "password"
    assert output["properties"]["kind"] == {"title": "Kind", "type": "string", "enum": ["a", "b"]}
    assert output["properties"]["other"] == {"title": "Other", "type": "object", "nullable": True}
    optional = {"tags"} if V2 else {"tags", "other"}
    assert output["required"] == [name for name in output["properties"] if name not in optional]


def test_as_an_input_it_is_refused(model):
    source = "import pydantic\nclass In(pydantic.BaseModel):\n  a: int\ndef run(x: In) -> str: ...\n"
    with pytest.raises(ValueError, match="In is an output type; take its members as inputs"):
        model(source)
