//! Plans and profiles of queries.

use pyo3::prelude::*;

/// The plan of a query: as written, and after each rule of the optimiser that changed it. For each step that would run,
/// it says how many traversers are expected and how elements are found. `Database.explain` makes it. When printed, it
/// is a table.
///
/// >>> plan = db.explain("g.V().hasLabel('airport').out('route').count()")
/// >>> [rule["rule"] for rule in plan.to_dict()["rules"]]
/// ['scan-filters', 'degree']
#[pyclass(frozen, module = "mangrovedb")]
pub struct Explanation(pub mangrove::Explanation);

#[pymethods]
impl Explanation {
    /// Returns the plan as dicts and lists: `original`, `rules`, `steps`.
    ///
    /// >>> db.explain("g.V('AUS').out('route')").to_dict()["steps"][0]["access"]
    /// 'by id'
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &self.0.to_json())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<mangrovedb.Explanation {}>", self.0.last())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb._display")?.call_method1("explanation_html", (slf,))
    }
}

/// What each step of a query did: its time, the rows it gave, and how much of it other threads did. `Database.profile`
/// makes it. When printed, it is a table; in a notebook it is a picture.
///
/// >>> profile = db.profile("g.V().hasLabel('airport').out('route').dedup().count()")
/// >>> profile.results, profile.to_dict()["steps"][0]["rows"]
/// (1, 4)
#[pyclass(frozen, module = "mangrovedb")]
pub struct Profile(pub mangrove::Profile);

#[pymethods]
impl Profile {
    /// Returns the profile as dicts and lists: `time_us`, `results`, `steps`.
    ///
    /// >>> sorted(db.profile("g.V()").to_dict())
    /// ['results', 'steps', 'time_us']
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &self.0.to_json())
    }

    /// The number of results the query gave.
    ///
    /// >>> db.profile("g.V()").results
    /// 5
    #[getter]
    fn results(&self) -> u64 {
        self.0.results
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<mangrovedb.Profile of {} steps>", self.0.steps.len())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("mangrovedb._display")?.call_method1("profile_html", (slf,))
    }
}

fn loads<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
