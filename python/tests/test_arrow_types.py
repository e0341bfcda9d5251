"""Every type of Arrow, row by row as docs/load.md lists them: ingested, and loaded from Parquet."""

import datetime
import decimal
import pathlib
import re
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mangrovedb as mg

ABSENT = "absent"
DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
ID = uuid.UUID(int=7)
LARGE = 2**63 + 1


def refused(why):
    return re.compile(why)


def array(items, t):
    return pa.array(items, t)


def raw(counts, t):
    """An array of these counts, whatever they mean."""
    return pa.array(counts, pa.int32() if t.bit_width == 32 else pa.int64()).view(t)


# The first column of the table in docs/load.md, arrays, and what their values are read as. Texts that begin with "=" are compared
# with what the value reads as text.
TYPES = {
    "`null`": [(pa.nulls(2), [ABSENT, ABSENT])],
    "`bool`": [(array([True, None], pa.bool_()), [True, ABSENT])],
    "`int8`, `int16`, `int32`, `int64`": [
        (array([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, None], t), [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, ABSENT])
        for bits, t in [(8, pa.int8()), (16, pa.int16()), (32, pa.int32()), (64, pa.int64())]
    ],
    "`uint8`, `uint16`, `uint32`": [
        (array([0, 2**bits - 1], t), [0, 2**bits - 1]) for bits, t in [(8, pa.uint8()), (16, pa.uint16()), (32, pa.uint32())]
    ],
    "`uint64`": [(array([5, LARGE, None], pa.uint64()), [5, LARGE, ABSENT])],
    "`float16`": [(array([1.5, None], pa.float16()), [1.5, ABSENT])],
    "`float32`, `float64`": [(array([1.5, float("inf"), None], t), [1.5, float("inf"), ABSENT]) for t in (pa.float32(), pa.float64())],
    "`decimal32`, `decimal64`, `decimal128`, `decimal256`": [
        (array([decimal.Decimal("-12.34"), None], t), [decimal.Decimal("-12.34"), ABSENT])
        for t in (pa.decimal32(6, 2), pa.decimal64(12, 2), pa.decimal128(30, 2), pa.decimal256(60, 2))
    ],
    "`string`, `large_string`, `string_view`": [
        (array(["é", "", None], t), ["é", "", ABSENT]) for t in (pa.string(), pa.large_string(), pa.string_view())
    ],
    "`binary`, `large_binary`, `binary_view`, `fixed_size_binary`": [
        (array([b"\0" * 16, None], t), [b"\0" * 16, ABSENT])
        for t in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(16))
    ]
    + [(array([b"abc"], pa.binary(3)), [b"abc"])],
    "`date32`": [(array([DAY, None], pa.date32()), [DAY, ABSENT])],
    "`date64`": [(array([DAY, None], pa.date64()), ["=2024-02-29T00:00:00Z", ABSENT])],
    "`timestamp`": [(array([NOON, None], pa.timestamp(unit)), [NOON, ABSENT]) for unit in ("s", "ms", "us", "ns")]
    + [
        (array([NOON], pa.timestamp("us", "Asia/Tokyo")), [NOON]),
        (raw([1], pa.timestamp("ns")), ["=1970-01-01T00:00:00.000000001Z"]),
        (raw([253402300800], pa.timestamp("s")), ["=@253402300800.000000000"]),
    ],
    "`time32`, `time64`": [
        (array([1], pa.int32()).view(pa.time32("s")), refused("times of day")),
        (array([1], pa.int64()).view(pa.time64("us")), refused("times of day")),
    ],
    "`duration`": [
        (raw([1, -1, None], pa.duration("s")), ["=PT1S", "=-PT1S", ABSENT]),
        (raw([1500], pa.duration("ms")), ["=PT1.5S"]),
        (raw([1], pa.duration("us")), ["=PT0.000001S"]),
        (raw([1, 1001], pa.duration("ns")), ["=PT0.000000001S", "=PT0.000001001S"]),
        (raw([2**62], pa.duration("s")), [f"=PT{2**62 // 3600}H{2**62 % 3600 // 60}M{2**62 % 60}S"]),
    ],
    "`interval`": [(array([pa.MonthDayNano([1, 2, 3])], pa.month_day_nano_interval()), refused("whose length varies"))],
    "`list`, `large_list`, `list_view`, `large_list_view`": [
        (array([[1, None], [], None], t), [[1, None], [], ABSENT])
        for t in (pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_view(pa.int64()), pa.large_list_view(pa.int64()))
    ],
    "`fixed_size_list` of `float32`": [
        (array([[1.0, 2.0], [1.0, None], [None, None], None], pa.list_(pa.float32(), 2)), [[1.0, 2.0], [1.0, None], [None, None], ABSENT])
    ],
    "other `fixed_size_list`": [(array([["a", None], None], pa.list_(pa.string(), 2)), [["a", None], ABSENT])],
    "`struct`": [
        (
            array([{"a": 1, "b": ["x"]}, {"a": None, "b": None}, None], pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))])),
            [{"a": 1, "b": ["x"]}, {"a": None, "b": None}, ABSENT],
        )
    ],
    "`map`": [
        (
            array([[("a", 1), ("b", None)], [("a", 1), ("a", 2)], None], pa.map_(pa.string(), pa.int64())),
            [{"a": 1, "b": None}, [["a", 1], ["a", 2]], ABSENT],
        )
    ],
    "`union`": [(pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), refused("several types"))],
    "`dictionary`": [
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["a", None])), ["a", ABSENT, ABSENT]),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), pa.array([5, 6])), [6, 5]),
    ],
    "`run_end_encoded`": [
        (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None])), ["a", "a", ABSENT])
    ],
    "extension `arrow.uuid`": [(pa.array([ID.bytes, None], pa.uuid()), [ID, ABSENT])],
    "extension `arrow.bool8`": [(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None], pa.int8())), [False, True, ABSENT])],
    "extension `arrow.json`": [(pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None])), ['{"a":1}', ABSENT])],
    "other extensions": [
        (
            pa.ExtensionArray.from_storage(
                pa.fixed_shape_tensor(pa.float32(), [1, 2]), pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))
            ),
            [[1.0, 2.0]],
        ),
        (pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "t", "v"), pa.array([7], pa.int32())), [7]),
    ],
}

NOT_IN_PARQUET = ("month_day_nano_interval", "sparse_union", "run_end_encoded", "dictionary")
CASES = [pytest.param(array, expected, id=f"{array.type} {at}") for rows in TYPES.values() for at, (array, expected) in enumerate(rows)]


def test_the_table_lists_what_is_tested():
    text = (pathlib.Path(__file__).parents[2] / "docs" / "load.md").read_text()
    table = text.split("| Arrow |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in table] == list(TYPES)


def table_of(column):
    return pa.table({"id": list(range(len(column))), "x": column})


def values(db, expected):
    found = db.query("g.V().order().by('id').coalesce(values('x'), constant('absent'))").to_list()
    texts = db.query("g.V().order().by('id').coalesce(values('x').asString(), constant('absent'))").to_list()
    return [f"={text}" if str(wanted).startswith("=") else list(value) if isinstance(value, (tuple, bytearray)) else value
            for value, text, wanted in zip(found, texts, expected)]


def plain(value):
    """Vectors are NumPy arrays or the like."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


@pytest.mark.parametrize("column, expected", CASES)
def test_a_type_is_ingested(empty, column, expected):
    with empty.ingest() as ingest:
        if isinstance(expected, re.Pattern):
            with pytest.raises(mg.LoadError, match=expected.pattern):
                ingest.add_vertices("n", table_of(column))
            return
        ingest.add_vertices("n", table_of(column))
    assert [plain(value) for value in values(empty, expected)] == expected


@pytest.mark.parametrize("column, expected", CASES)
def test_a_type_is_loaded_from_parquet(empty, column, expected, tmp_path):
    path = tmp_path / "n.parquet"
    try:
        pq.write_table(table_of(column), path)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        assert str(column.type).startswith(NOT_IN_PARQUET), column.type
        return
    if isinstance(expected, re.Pattern):
        with pytest.raises(mg.LoadError, match=expected.pattern):
            empty.load(nodes={"n": path})
        return
    empty.load(nodes={"n": path})
    assert [plain(value) for value in values(empty, expected)] == expected


def ingest(db, table, **limits):
    with db.ingest(**limits) as rows:
        rows.add_vertices("n", table)


def write(tmp_path, table, **options):
    pq.write_table(pa.table(table), tmp_path / "n.parquet", **options)
    return tmp_path / "n.parquet"


def test_ids_of_encoded_columns(empty):
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["a", "b", None]))
    with pytest.raises(mg.LoadError, match="n: row 3: no id"):
        ingest(empty, pa.table({"id": encoded}))
    ingest(empty, pa.table({"id": encoded.slice(0, 2)}))
    ingest(empty, pa.table({"id": pa.array([ID.bytes], pa.binary(16))}))
    assert empty.query("g.V().id()").to_list() == ["a", "b", ID]


def test_a_column_of_labels_is_text(empty, tmp_path):
    times = pa.array([1], pa.int32()).view(pa.time32("s"))
    path = write(tmp_path, {":ID": [1], ":LABEL": times})
    with pytest.raises(mg.LoadError, match="`:LABEL`.*times of day"):
        empty.load(nodes={"n": path})
    path = write(tmp_path, {":ID": [1, 2], ":LABEL": pa.array(["x", "y;z"]).dictionary_encode()})
    empty.load(nodes={"n": path})
    assert [empty.query(f"g.V().hasLabel('{label}').id()").to_list() for label in "xyz"] == [[1], [2], [2]]


@pytest.mark.parametrize(
    "declared, column, bad",
    [
        ("x:float", pa.array([1e300]), "not a float"),
        ("x:double", pa.array([2**53 + 1]), str(2**53 + 1)),
        ("x:double", pa.array([2**53]), None),
        ("x:double", pa.array(["1e999"]), "1e999"),
        ("x:float", pa.array(["1e99"]), "1e99"),
        ("x:byte", pa.array([300]), "300"),
        ("x:string[]", pa.array([["a", None]]), "null"),
    ],
)
def test_what_does_not_fit_a_declared_type_is_a_bad_row(empty, tmp_path, declared, column, bad):
    path = write(tmp_path, {":ID": [1], declared: column})
    if bad is None:
        empty.load(nodes={"n": path})
        assert empty.query("g.V().values('x')").one() == 2**53
        return
    with pytest.raises(mg.LoadError, match=re.escape(bad)) as raised:
        empty.load(nodes={"n": path})
    assert "row 1" in str(raised.value)


def test_numbers_of_text_beyond_all_doubles_are_kept_or_refused(empty, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "x": 1e999, "y": 1.5}\n')
    empty.load(nodes={"n": tmp_path / "a.jsonl"})
    assert empty.query("g.V().values('x')").one() == decimal.Decimal("1e999")
    (tmp_path / "b.jsonl").write_text('{"id": 2, "x": 1e99999999}\n')
    with pytest.raises(mg.LoadError, match="too large to be kept"):
        empty.load(nodes={"n": tmp_path / "b.jsonl"})
    (tmp_path / "c.csv").write_text("id,x:double\n3,1e999\n")
    with pytest.raises(mg.LoadError, match="1e999.*not a double"):
        empty.load(nodes={"n": tmp_path / "c.csv"})


@pytest.mark.filterwarnings("ignore:.*INT96")
def test_times_of_96_bits_do_not_wrap_around(empty, tmp_path):
    far = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)]
    path = write(tmp_path, {"id": [0, 1], "x": pa.array(far, pa.timestamp("us"))}, use_deprecated_int96_timestamps=True)
    report = empty.load(nodes={"n": path})
    assert any("INT96" in warning for warning in report["warnings"])
    assert [time.year for time in empty.query("g.V().order().by('id').values('x')").to_list()] == [1, 9999]


def test_a_value_of_more_than_128_mb_is_a_bad_row(empty, tmp_path):
    text = "x" * ((128 << 20) + 1)
    with pytest.raises(mg.LoadError, match="n: row 2.*take more than 128 MB, most of it in column `x`"):
        ingest(empty, pa.table({"id": [1, 2], "x": ["short", text]}))
    assert empty.query("g.V().count()").one() == 0


NUMPY = [
    ("datetime64[ns]", [1, None], ["=1970-01-01T00:00:00.000000001Z", ABSENT]),
    ("datetime64[us]", [1], ["=1970-01-01T00:00:00.000001Z"]),
    ("datetime64[ms]", [1], ["=1970-01-01T00:00:00.001Z"]),
    ("datetime64[s]", [253402300800], ["=@253402300800.000000000"]),
    ("datetime64[m]", [1], ["=1970-01-01T00:01:00Z"]),
    ("datetime64[D]", [1, None], ["=1970-01-02", ABSENT]),
    ("datetime64[M]", [1], ["=1970-02-01"]),
    ("timedelta64[ns]", [1, None], ["=PT0.000000001S", ABSENT]),
    ("timedelta64[h]", [1], ["=PT1H"]),
]


@pytest.mark.parametrize("dtype, counts, expected", NUMPY)
def test_times_of_numpy(empty, dtype, counts, expected):
    numpy = pytest.importorskip("numpy")
    column = numpy.array(counts_with_gaps(counts), "i8").view(dtype)
    ingest(empty, {"id": numpy.arange(len(counts)), "x": column})
    assert values(empty, expected) == expected
    for item, text in zip(column, expected):
        if text != ABSENT:
            assert empty.query("g.inject(x).asString()", x=item).one() == text[1:]
            assert empty.query("g.inject(x).unfold().asString()", x=numpy.array([item])).one() == text[1:]


def counts_with_gaps(counts):
    return [-(2**63) if count is None else count for count in counts]


def test_times_of_numpy_without_a_fixed_unit_are_refused(empty):
    numpy = pytest.importorskip("numpy")
    for dtype in ("datetime64[ps]", "timedelta64[Y]", "timedelta64"):
        with pytest.raises(TypeError, match="cannot be stored: cast them"):
            ingest(empty, {"id": [1], "x": numpy.array([1], "i8").view(dtype)})


def test_masked_items_are_no_values(empty):
    numpy = pytest.importorskip("numpy")
    masked = numpy.ma.masked_array([1, 999, 3], mask=[False, True, False])
    ingest(empty, {"id": [0, 1, 2], "x": masked})
    assert values(empty, [1, ABSENT, 3]) == [1, ABSENT, 3]


def test_nanoseconds_of_pandas_are_kept(empty):
    pandas = pytest.importorskip("pandas")
    time, span = pandas.Timestamp(1, unit="ns"), pandas.Timedelta(1001, unit="ns")
    assert empty.query("g.inject(x).asString()", x=time).one() == "1970-01-01T00:00:00.000000001Z"
    assert empty.query("g.inject(x).asString()", x=span).one() == "PT0.000001001S"
    assert empty.query("g.inject(x)", x=pandas.NaT).one() is None
    ingest(empty, pandas.DataFrame({"id": [0, 1], "x": [time, pandas.NaT]}))
    expected = ["=1970-01-01T00:00:00.000000001Z", ABSENT]
    assert values(empty, expected) == expected
