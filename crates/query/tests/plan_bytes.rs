//! Plans as bytes.

use mangrove_query::plan::{Plan, PlanBytesError};
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;

fn plan(text: &str) -> Plan {
    Query::parse(text).unwrap().plan(&Oracle::modern(), &Parameters::new(), &QueryOptions::default()).unwrap()
}

#[test]
fn a_plan_runs_from_its_bytes() {
    let text = "g.V().has('name', within('marko', 'josh')).out().order().by('name').values('name')";
    let again = Plan::from_bytes(&plan(text).to_bytes().unwrap()).unwrap();
    let modern = Oracle::modern();
    let graph = &mut Graph::Read(&modern);
    let mut execution = Query::execute_plan(again, graph, &QueryOptions::default()).unwrap();
    let names: Vec<String> = execution.collect(graph).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["josh", "lop", "lop", "ripple", "vadas"]);
}

/// If this fails because the types of plans have changed, raise the version and write the new bytes here.
#[test]
fn the_bytes_of_a_version_stay_as_they_are() {
    let bytes = plan("g.V(1).out('knows').has('age', gt(30)).values('name').math('_ + sin(_)')").to_bytes().unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "4d47504c08000000000000000000000000000000000000000000000000050000010104020000000002060000060001056b6e6f777300000000000007130000090100036167650004043c00142600002101046e616d650027350000350a5f202b2073696e285f29040100010009100201015f000036480000"
    );
}

#[test]
fn other_bytes_are_refused() {
    let bytes = plan("g.V().out().count()").to_bytes().unwrap();
    assert!(matches!(Plan::from_bytes(b"hello"), Err(PlanBytesError::NotAPlan)));
    assert!(matches!(Plan::from_bytes(b"MGPL"), Err(PlanBytesError::NotAPlan)));
    let mut newer = bytes.clone();
    newer[4] = 9;
    assert!(matches!(Plan::from_bytes(&newer), Err(PlanBytesError::Version(9))));
    assert!(matches!(Plan::from_bytes(&bytes[..bytes.len() - 1]), Err(PlanBytesError::Damaged(_))));
    let longer = [&bytes[..], &[0, 0]].concat();
    assert!(matches!(Plan::from_bytes(&longer), Err(PlanBytesError::TooLong(2))));
}

#[test]
fn plans_that_nest_too_deep_are_refused() {
    // union( union( … ) ), far deeper than text may nest. Reading it needs no more than 256 kB of this thread's stack.
    let nested = |depth: usize| {
        let mut plan = plan("g.inject(1)");
        for _ in 0..depth {
            let inner = std::mem::take(&mut plan.traversal);
            plan.traversal.steps = vec![mangrove_query::plan::Step::Union(vec![inner]).into()];
        }
        plan
    };
    let deep = nested(200).to_bytes().unwrap();
    assert!(Plan::from_bytes(&deep).is_ok());
    let too_deep = nested(1000).to_bytes().unwrap();
    assert!(matches!(Plan::from_bytes(&too_deep), Err(PlanBytesError::Damaged(_))));
}
