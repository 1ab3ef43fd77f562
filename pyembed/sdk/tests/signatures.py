"""The signatures whose documents lie in the folder golden.

Each entry is (parameters, return type, code before the function). The golden
files hold what the signature makes of `components.schemas`; the rest of the
document is the same for all, and lies in golden/documents.
"""

from __future__ import annotations

Case = tuple[str, str, str]


def case(parameters: str = "", returns: str = "str", before: str = "") -> Case:
    return parameters, returns, before


_COLOR = """
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
"""
_LEVEL = """
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
"""
_OUT = """
class Out(BaseModel):
    text: str
    score: float = 0.5
    file: Optional[Path] = None
"""
_NESTED = """
class Box(BaseModel):
    left: int
    label: Literal["cat", "dog"]

class Page(BaseModel):
    boxes: list[Box]
    best: Optional[Box]
    by_name: dict[str, Box]
"""
_TREE = """
class Tree(BaseModel):
    name: str
    children: "list[Tree]"
"""
_TYPED = """
class Point(TypedDict):
    x: float
    y: float

class Place(Point, total=False):
    name: str
"""
_POINT_CODER = """
class Point:
    def __init__(self, x=0):
        self.x = x

class PointCoder(Coder):
    @staticmethod
    def factory(tpe):
        return PointCoder() if tpe is Point else None

    def encode(self, x):
        return {"x": x.x}

    def decode(self, x):
        return Point(x["x"])

Coder.register(PointCoder)
"""

CASES: dict[str, Case] = {
    # scalars
    "nothing": case(),
    "str": case("text: str"),
    "int": case("n: int"),
    "float": case("x: float"),
    "bool": case("flag: bool"),
    "scalar_defaults": case("a: str = 'x', b: int = 3, c: float = 0.5, d: bool = True"),
    "falsy_defaults": case("a: str = '', b: int = 0, c: float = 0.0, d: bool = False"),
    "float_with_int_default": case("x: float = 1"),
    "int_with_whole_float_default": case("n: int = 3.0"),
    "infinite_default": case("x: float = float('inf')"),
    "huge_int_default": case("n: int = 2**70"),
    "computed_default": case("n: int = Input(default=2 * 3 + len('abc'))"),
    "positional_default": case("n: int = Input(5)"),
    "order": case("z: str, a: int, m: bool = False"),
    "keyword_only": case("a: str, *, b: int = 1"),
    "titles": case("num_inference_steps: int, lr_te1: float, topK: int, _x: int, a__b: int"),
    # Input()
    "description": case("text: str = Input(description='What to say')"),
    "bounds": case("n: int = Input(ge=1, le=10), x: float = Input(default=0.5, ge=0, le=1.5)"),
    "lengths": case("text: str = Input(min_length=1, max_length=20)"),
    "regex": case("text: str = Input(default='abc', regex='^[a-z]+$')"),
    "regex_classes": case(r"text: str = Input(default='é', regex='^\\p{L}+$')"),
    "required_ellipsis": case("n: int = Input(..., ge=1), text: str = ..."),
    "deprecated": case("old: str = Input(default='', deprecated=True)"),
    "not_deprecated": case("new: str = Input(default='', deprecated=False)"),
    "accept": case("image: Path = Input(accept='image/*')"),
    "all_of_it": case("n: int = Input(default=3, description='d', ge=1, le=5, deprecated=True)"),
    # choices
    "choices_str": case("size: str = Input(choices=['s', 'm'], default='s')"),
    "choices_int": case("n: int = Input(choices=[64, 128], description='Width')"),
    "choices_float": case("x: float = Input(choices=[1, 2.5])"),
    "choices_keys": case("m: str = Input(choices=MODELS.keys())", before="MODELS = {'a': 1, 'b': 2}"),
    "choices_optional": case("size: Optional[str] = Input(choices=['s', 'm'])"),
    "choices_list": case("sizes: list[str] = Input(choices=['s', 'm'], default=['s'])"),
    "choices_reserved_name": case("Status: str = Input(choices=['a']), Input_Status: int = 1"),
    "literal": case("size: Literal['s', 'm'] = 'm', n: Literal[1, 2] = 1"),
    "literal_mixed": case("x: Literal['auto', 1, True]"),
    "literal_with_none": case("x: Literal['a', None] = None"),
    "literal_optional": case("x: Optional[Literal['a', 'b']] = None"),
    "literal_list": case("xs: list[Literal['a', 'b']]"),
    "enum_str": case("color: Color = Color.RED", before=_COLOR),
    "enum_int": case("level: Level = Level.LOW", before=_LEVEL),
    "enum_narrowed": case("color: Color = Input(choices=[Color.RED])", before=_COLOR),
    # files and secrets
    "path": case("image: Path", "Path"),
    "path_none_default": case("mask: Path = None"),
    "path_default": case("image: Path = Path('sample.png')"),
    "path_optional": case("mask: Optional[Path] = None"),
    "path_list": case("images: list[Path]"),
    "path_pathlib": case("image: pathlib.Path", "pathlib.Path"),
    "path_pathlike": case("image: os.PathLike"),
    "file": case("image: File", "File"),
    "secret": case("token: Secret"),
    "secret_none_default": case("token: Secret = None"),
    "secret_default": case("token: Secret = Secret('x')"),
    "secret_optional": case("token: Optional[Secret] = Input(default=None, description='Key')"),
    "secret_list": case("tokens: list[Secret] = ['x']"),
    # containers
    "list_bare": case("xs: list, ys: List"),
    "list_of": case("a: list[str], b: List[int], c: abc.Sequence[float]"),
    "list_nested": case("xss: list[list[int]] = [[1], [2, 3]]"),
    "list_default_empty": case("xs: list[str] = Input(default=[])"),
    "list_optional_items": case("xs: list[Optional[int]]"),
    "dict_bare": case("a: dict, b: Dict = {}"),
    "dict_of": case("a: dict[str, int], b: Mapping[str, list[float]] = {'x': [1]}"),
    "dict_of_any": case("a: dict[str, Any]"),
    "any": case("a: Any, b: object"),
    "opaque": case(
        "a: Annotated[Config, Opaque], b: Optional[Annotated[Config, Opaque]] = None", before="class Config: ..."
    ),
    "annotated": case("a: Annotated[int, 'a note']"),
    "annotated_input": case(
        "a: Annotated[int, Input(ge=1)], b: Annotated[int, Input(ge=1)] = 3, "
        "c: Annotated[Optional[int], Input(le=9, description='in it')] = None, "
        "d: Annotated[int, Input(default=3, ge=1)] = Input(le=5, description='beside it'), "
        "e: Optional[Annotated[str, Input(min_length=1)]] = None, "
        "f: Annotated[str, Input(default='x', choices=['x', 'y'])] = ..., "
        "g: 'Annotated[int, Input(description=\"first\"), Input(ge=1)]' = Input(default=None), "
        "h: Annotated[Thing, Opaque, Input(description='d')] = Input()",
        before="class Thing: ...",
    ),
    "opaque_shapes": case(
        "a: Annotated[List[Thing], Opaque], b: Annotated[Optional[Thing], Opaque] = None, "
        "c: Annotated[Optional[List[Thing]], Opaque] = None, "
        "d: Annotated[list, Opaque] = Input(description='d'), "
        "e: Optional[Annotated[list[Thing], Opaque]] = None, "
        "f: Annotated[dict[str, Thing], Opaque] = Input(), "
        "g: Annotated[Union[Thing, int], Opaque] = Input(), "
        "h: Annotated['list[Unknown]', Opaque] = Input(), "
        "i: Annotated['Unknown', Opaque] = Input(), "
        "j: Annotated[abc.Sequence[Thing] | None, Opaque] = Input()",
        "Annotated[List[Thing], Opaque]",
        before="class Thing: ...",
    ),
    "private": case("_x: str, __y: int, _my_name_: int = 3, x__y: int = 2"),
    "extras": case("a: int, *args: str, b: int = 2, **kwargs: int"),
    "typed_dict": case("place: Place", "Place", _TYPED),
    "newtype_and_alias": case("a: UserId, b: Names", before="UserId = NewType('UserId', int)\nNames = list[str]"),
    "coder": case("p: Point, ps: list[Point]", "Point", _POINT_CODER),
    # optional and unions
    "optional": case("a: Optional[int], b: Optional[str] = None, c: int | None = 3"),
    "optional_input": case("a: Optional[str] = Input(description='d'), b: Optional[int] = Input(ge=1)"),
    "none_default": case("a: str = None, b: int = Input(default=None)"),
    "union": case("a: Union[int, str], b: str | float = 'x'"),
    "union_nullable": case(
        "a: Union[int, str, None], b: Optional[Union[int, str]] = None, "
        "c: int | str | None = Input(), d: int | str | None = Input(default=None)"
    ),
    "union_containers": case("a: Union[str, list[str], dict[str, int]]"),
    # quoted annotations
    "quoted": case("a: 'int', b: 'Optional[list[str]]' = None, c: List['Path'] = Input()"),
    # outputs
    "out_int": case(returns="int"),
    "out_float": case(returns="float"),
    "out_bool": case(returns="bool"),
    "out_none": case(returns="None"),
    "out_any": case(returns="Any"),
    "out_dict": case(returns="dict"),
    "out_dict_of": case(returns="dict[str, list[dict[str, int]]]"),
    "out_list": case(returns="list"),
    "out_list_of_paths": case(returns="List[Path]"),
    "out_tuple": case(returns="tuple[int, str]"),
    "out_set": case(returns="set[str]"),
    "out_named_tuple": case(returns="Row", before="class Row(NamedTuple):\n    a: int\n    b: str"),
    "out_subclasses": case(
        returns="Out",
        before="class Name(str): ...\nclass Count(int): ...\nclass Items(list): ...\n"
        "class Table(dict): ...\nclass Out(BaseModel):\n    a: Name\n    b: Count\n"
        "    c: Items\n    d: Table",
    ),
    "out_texts": case(returns="list[dict[str, datetime.datetime]]"),
    "out_enum": case(returns="Color", before=_COLOR),
    "out_model": case(returns="Out", before=_OUT),
    "out_model_nested": case(returns="Page", before=_NESTED),
    "out_model_recursive": case(returns="Tree", before=_TREE),
    "out_model_list": case(returns="list[Out]", before=_OUT),
    "out_model_plain": case(
        returns="Plain", before="class Plain(BaseModel, auto_dataclass=False):\n    a: int\n    b: str = 'x'"
    ),
    "out_dataclass": case(
        returns="Out", before="@dataclass\nclass Out:\n    when: datetime.date\n    id: uuid.UUID = None"
    ),
    "out_iterator": case(returns="Iterator[str]"),
    "out_iterator_of_paths": case(returns="abc.Iterator[Path]"),
    "out_iterator_of_models": case(returns="Iterator[Out]", before=_OUT),
    "out_generator": case(returns="Generator[int, None, None]"),
    "out_async_iterator": case(returns="AsyncIterator[int]"),
    "out_concatenate": case(returns="ConcatenateIterator[str]"),
    "out_concatenate_bare": case(returns="ConcatenateIterator"),
    "out_async_concatenate": case(returns="AsyncConcatenateIterator[str]"),
    "streamed": case("x: Iterator[str] = Input(description='words', max_items=5, max_length=3)"),
    "streamed_bytes": case("x: abc.Iterable[bytes], n: list[int] = Input([], max_items=2)"),
    "streamed_choices": case("x: Iterator[Literal['a', 'b']]"),
    "streamed_numbers": case("x: Iterator[float] = Input(ge=0, le=1)"),
}

PYDANTIC: dict[str, Case] = {
    "pydantic": case(
        returns="Out",
        before="""
import pydantic
class Box(pydantic.BaseModel):
    left: int = 0

class Out(pydantic.BaseModel):
    text: str
    boxes: List[Box]
    note: Optional[str] = None
""",
    )
}

# What is refused at load, with the message. {} stands for the file and line.
REFUSALS: dict[str, tuple[Case, str]] = {
    "no annotation": (case("x"), 'parameter "x" of run: it has no type; annotate it'),
    "no annotation with Input": (case("x=Input()"), 'parameter "x" of run: it has no type'),
    "bytes": (case("x: bytes"), "bytes is not supported; use cog.Path for binary data"),
    "tuple": (case("x: tuple[int, int]"), "tuple[int, int] cannot be an input; use list[...]"),
    "set": (case("x: Set[str]"), "set[str] cannot be an input; use list[...]"),
    "complex": (case("x: complex"), "complex is not supported; use str, int"),
    "class": (case("x: Thing", before="class Thing: ..."), "Thing is not supported; use str"),
    "none": (case("x: None"), "None alone cannot be an input"),
    "a union of nothing": (case("x: Union"), "Union"),
    "iterator in a list input": (case("x: list[Iterator[str]]"), "can only be the whole input"),
    "generator": (case("x: abc.Generator[str]"), "an iterator can only be the whole input"),
    "two streamed inputs": (
        case("x: Iterator[str], y: Iterator[int]"),
        'a function can have one streamed input, and "x" is one too',
    ),
    "streamed input without a type": (case("x: abc.Iterator"), "has no type of its items"),
    "streamed input with a default": (
        case("x: Iterator[str] = Input(default=['a'])"),
        "a streamed input cannot have a default",
    ),
    "optional streamed input": (case("x: Iterator[str] | None"), "can only be the whole input"),
    "max_items of a text": (
        case("x: str = Input(max_items=3)"),
        "max_items is for a list or a streamed input, not str",
    ),
    "max_items of none": (case("x: list[str] = Input(max_items=0)"), "an int of 1 or more, got 0"),
    "iterator in a member, as in LiteLLM's messages": (
        case(
            "x: list[Outer]",
            before="class Inner(TypedDict):\n    parts: Iterable[str]\n\n\nclass Outer(TypedDict):\n    inner: Inner",
        ),
        "member 'inner': member 'parts': Iterable[str]: an iterator can only be the whole input; for a streamed "
        "input write Iterator[...], in an async function AsyncIterator[...]; "
        "to take any object, write Annotated[..., cog.Opaque] for the whole type",
    ),
    "type variable": (case("x: T", before="T = TypeVar('T')"), "type variable ~T has no concrete type"),
    "int keys": (case("x: dict[int, str]"), "dict[int, str]: its keys must be str"),
    "model as input": (case("x: Out", before=_OUT), "Out is an output type"),
    "union with Path": (case("x: Union[str, Path]"), 'parameter "x" of run: str | Path is a union with Path'),
    "union with list of Path": (case("x: Union[str, list[Path]]"), "is a union with Path"),
    "union with File": (case("x: Union[str, File]"), "is a union with File"),
    "union with Secret": (case("x: Union[str, Secret, None]"), "is a union with Secret"),
    "union with model": (case("x: Union[str, Place]", before=_TYPED), "is a union with Place"),
    "positional only": (case("x: int, /"), "it is positional only"),
    "unknown name": (case("x: 'Nope'"), "'Nope' cannot be read: name 'Nope' is not defined"),
    "broken quote": (case("x: 'list['"), "cannot be read: SyntaxError"),
    "default below": (case("n: int = Input(0, ge=1)"), "the default 0 is less than the minimum of 1"),
    "default above": (case("n: int = Input(9, le=5)"), "is greater than the maximum of 5"),
    "default short": (case("s: str = Input('', min_length=1)"), "is shorter than 1 characters"),
    "default long": (case("s: str = Input('abc', max_length=2)"), "is longer than 2 characters"),
    "default no match": (case("s: str = Input('A', regex='^[a-z]$')"), 'does not match "^[a-z]$"'),
    "default no choice": (case("s: str = Input('c', choices=['a', 'b'])"), "the default 'c' is not one of ['a', 'b']"),
    "default no literal": (case("s: Literal['a'] = 'b'"), "the default 'b' is not one of ['a']"),
    "default no member": (case("c: Color = 'green'", before=_COLOR), "is not one of ['red', 'blue']"),
    "bad pattern": (case("s: str = Input(regex='(')"), "regex '(' does not compile"),
    "bad pattern with a class": (case(r"s: str = Input(regex='(\\p{L}')"), "does not compile"),
    "pattern no str": (case("s: str = Input(regex=3)"), "regex must be a str, got 3"),
    "bound no number": (case("n: int = Input(ge='1')"), "ge must be a number, got '1'"),
    "bound infinite": (case("x: float = Input(le=float('inf'))"), "leave it out for no bound"),
    "length no int": (case("s: str = Input(max_length=1.5)"), "max_length must be an int, got 1.5"),
    "length negative": (case("s: str = Input(min_length=-1)"), "min_length must be 0 or more"),
    "choices empty": (case("s: str = Input(choices=[])"), "choices must not be empty"),
    "choices for Path": (case("p: Path = Input(choices=['a'])"), "choices cannot be given for Path"),
    "choices no member": (
        case("c: Color = Input(choices=['green'])", before=_COLOR),
        "choice 'green' is not a value of Color",
    ),
    "literal of bytes": (case("x: Literal[b'a']"), "must hold JSON values, not bytes"),
    "literal none": (case("x: Literal[None]"), "allows only None"),
    "optional output": (case(returns="Optional[str]"), "the return type of run: str | None is optional"),
    "union output": (case(returns="Union[int, str]"), "the return type of run: int | str is a union"),
    "bytes output": (case(returns="bytes"), "bytes is not supported; use cog.Path"),
    "class output": (case(returns="Thing", before="class Thing: ..."), "as an output"),
    "iterator in a list": (case(returns="list[Iterator[str]]"), "can only be the whole output"),
    "model member": (
        case(returns="Out", before="class Out(BaseModel):\n    raw: bytes"),
        "member 'raw': bytes is not supported",
    ),
}

# What is served with a warning, and the warning.
DOUBTS: dict[str, tuple[Case, str]] = {
    "default of another type": (case("n: int = 'a'"), "the default 'a' is not of type int"),
    "bool for int": (case("n: int = True"), "the default True is not of type int"),
    "int for bool": (case("f: bool = 0"), "the default 0 is not of type bool"),
    "int for str": (case("s: str = 3"), "the default 3 is not of type str"),
    "fraction for int": (case("n: int = 2.5"), "the default 2.5 is not of type int"),
    "str for list": (case("xs: list[str] = 'a'"), "the default 'a' is not of type list[str]"),
    "wrong item": (case("xs: list[int] = [1, 'a']"), "is not of type int"),
    "wrong value": (case("d: dict[str, int] = {'a': 'b'}"), "is not of type int"),
    "union default": (case("x: Union[int, str] = [1]"), "the default [1] is not of type int | str"),
    "secret default": (case("s: Secret = 5"), "the default is not of type Secret"),
    "choices of another type": (case("s: str = Input(choices=[1])"), "the choices [1] are not of type str"),
    "none for int": (case("n: int = None"), "its default is None but int does not allow None"),
    "none for Path": (case("p: Path = Input(default=None)"), "write `Path | None`"),
    "none for list": (case("p: list[str] = None"), "its default is None but list[str] does not"),
    "choices of a list": (case("s: list[int] = Input(choices=['a', 1])"), "the choices ['a'] are not of type int"),
    "default of another type in its annotation": (
        case("n: Annotated[int, Input(default='a')]"),
        "the default 'a' is not of type int",
    ),
    "bounds of a list": (
        case("n: list[int] = Input(ge=1)"),
        "ge has no effect on list[int]: only a number is checked by it, not the items of a list",
    ),
    "lengths of a list": (
        case("n: Optional[list[str]] = Input(min_length=1, regex='a')"),
        "min_length, regex have no effect on list[str]: only a text is checked by them, not the",
    ),
    "bounds of a dict": (
        case("n: dict[str, int] = Input(le=1)"),
        "le has no effect on dict[str, int]: only a number is checked by it",
    ),
    "bounds of a str": (case("s: str = Input(le=1)"), "le has no effect on str: only a number"),
    "length of an int": (case("n: int = Input(max_length=1)"), "max_length has no effect on int"),
    "pattern of a union": (
        case("n: Union[int, bool] = Input(regex='a')"),
        "regex has no effect on int | bool: only a text",
    ),
    "Input in a list": (case("n: list[Annotated[int, Input(ge=1)]]"), "Input() inside of list[int] has no effect"),
}
