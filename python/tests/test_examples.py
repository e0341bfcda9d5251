"""The examples: the converter of the air-routes demonstration, on scripts of our own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import mangrovedb as mg

AIR_ROUTES = Path(__file__).parents[2] / "examples" / "air_routes"

SCRIPT = r"""
g.addV("airport").property(id,"1").property("code","AUS").property("desc","Austin's \"home\", é").property("runways",2)
 .property("lat",30.19d).addV("airport").property(id,"2").property("code",'LHR').property("lat",51L)
 .addV("country").property(id,"3").property("big",true);
g.addE("route").property(id,"7").from(V("1")).to(V("2")).property("dist",4921).addE("contains").property(id,"8").from(V("3")).to(V("1"))
"""


@pytest.fixture
def convert():
    spec = importlib.util.spec_from_file_location("convert", AIR_ROUTES / "convert.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["convert"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["convert"]


def test_scripts_become_files_that_load(tmp_path):
    (tmp_path / "script.txt").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, AIR_ROUTES / "convert.py", tmp_path / "csv", tmp_path / "script.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "vertices_airport.csv: 2" in done.stdout
    header = (tmp_path / "csv" / "vertices_airport.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "~id,~label,code:String,desc:String,runways:Int,lat:Double"
    with mg.open(tmp_path / "air.mg") as db:
        db.load(*sorted((tmp_path / "csv").glob("*.csv")))
        assert db.query("g.V(1).valueMap('desc', 'runways', 'lat').by(unfold())").one() == {
            "desc": "Austin's \"home\", é",
            "runways": 2,
            "lat": 30.19,
        }
        assert db.query("g.V(2).has('runways').count()").one() == 0
        assert db.query("g.V(3).out('contains').out('route').values('lat')").one() == 51.0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('g.addV("a").property(id,"1").drop()', r"s:1: step drop is not one of"),
        ('g.addV("a")\n.property("k","unclosed', r"s:2: expected"),
        ("hello world", r"s:1: expected '\('"),
    ],
)
def test_what_is_no_such_script_is_refused_with_its_place(convert, script, message):
    with pytest.raises(convert.ScriptError, match=message):
        list(convert.elements(convert.Script(script, "s")))
