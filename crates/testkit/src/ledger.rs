//! A write load in which every transaction is visibly all or nothing. The crash driver and the tests across processes run it.
//!
//! Transaction `n` depends on the seed, on `n`, and on the graph that earlier transactions left. So the state after `n`
//! transactions can be rebuilt from nothing, and a killed store must be in one of these states. A vertex called "ledger" says in
//! which: it holds the number and the total balance of the accounts.

use mangrove_graph::{
    Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, ExternalId, GraphView, GraphWrite, KeyId, LabelId, NewEdge,
    PropertyColumn, PropertyId, PropertyValue, Result, Value, VertexId, column,
};

use crate::compare::{hop, scan_vertices};
use crate::graphs::Random;

/// One in this many transactions is a batch of thousands of edges.
pub const BATCH_EVERY: u64 = 7;
/// An account closes after this many transactions.
const ACCOUNT_LIFE: u64 = 40;
const ACCOUNTS_EACH: u64 = 3;

struct Names {
    account: LabelId,
    batch: LabelId,
    paid: LabelId,
    linked: LabelId,
    number: KeyId,
    total: KeyId,
    balance: KeyId,
    memo: KeyId,
    at: KeyId,
}

impl Names {
    fn of(graph: &mut dyn GraphWrite) -> Result<Self> {
        Ok(Self {
            account: graph.ensure_label(ElementKind::Vertex, "account")?,
            batch: graph.ensure_label(ElementKind::Vertex, "batch")?,
            paid: graph.ensure_label(ElementKind::Edge, "paid")?,
            linked: graph.ensure_label(ElementKind::Edge, "linked")?,
            number: graph.ensure_key("number")?,
            total: graph.ensure_key("total")?,
            balance: graph.ensure_key("balance")?,
            memo: graph.ensure_key("memo")?,
            at: graph.ensure_key("at")?,
        })
    }
}

/// Runs transaction `n`, counted from 1, without a commit.
pub fn transaction(graph: &mut dyn GraphWrite, seed: u64, n: u64) -> Result<()> {
    let names = Names::of(graph)?;
    let mut random = Random::new(seed.wrapping_add(n.wrapping_mul(0x2545_f491_4f6c_dd1d)));
    if n == 1 {
        graph.declare_time(names.paid, names.at)?;
        graph.create_index(PropertyId::of_vertices(names.account, names.balance))?;
        let ledger = graph.ensure_label(ElementKind::Vertex, "ledger")?;
        graph.add_vertices(ledger, &[Some("ledger".into())], &mut Vec::new())?;
    }
    let opened = open_accounts(graph, &names, n, &mut random)?;
    pay(graph, &names, &opened, n, &mut random)?;
    close_accounts(graph, n)?;
    forget_payments(graph, &names, n, &mut random)?;
    if n.is_multiple_of(BATCH_EVERY) {
        replace_batch(graph, &names, n, &mut random)?;
    }
    if n.is_multiple_of(13) && !graph.drop_index(PropertyId::of_vertices(names.account, names.memo))? {
        graph.create_index(PropertyId::of_vertices(names.account, names.memo))?;
    }
    sum_up(graph, &names, n)
}

/// The number of the last transaction in the graph; 0 for an empty graph.
///
/// # Panics
/// If the ledger exists and holds no number.
pub fn last_transaction(view: &dyn GraphView) -> u64 {
    let Some(ledger) = vertex(view, "ledger".into()) else { return 0 };
    number(view, ledger, "number").expect("the ledger has a number") as u64
}

/// Checks an invariant that holds after every transaction and within none: the ledger's total is the sum of all accounts.
pub fn assert_balanced(view: &dyn GraphView) {
    let Some(ledger) = vertex(view, "ledger".into()) else { return };
    assert_eq!(number(view, ledger, "total"), Some(total(view)), "the ledger's total after {}", last_transaction(view));
}

fn vertex(view: &dyn GraphView, id: ExternalId) -> Option<VertexId> {
    let mut found = Vec::new();
    view.find_vertices(None, &[id], &mut found).expect("find vertices");
    found[0]
}

fn number(view: &dyn GraphView, vertex: VertexId, key: &str) -> Option<i64> {
    let cell = view.cell(ElementId::Vertex(vertex), view.schema().key(key)?).expect("cell");
    cell.values().next().and_then(Value::as_i64)
}

fn total(view: &dyn GraphView) -> i64 {
    let Some(account) = view.schema().label(ElementKind::Vertex, "account") else { return 0 };
    let scan = mangrove_graph::Scan::of(account);
    scan_vertices(view, &scan, 1000).into_iter().filter_map(|vertex| number(view, vertex, "balance")).sum()
}

fn account(n: u64, at: u64) -> ExternalId {
    ExternalId::Int((n * ACCOUNTS_EACH + at) as i64)
}

fn open_accounts(graph: &mut dyn GraphWrite, names: &Names, n: u64, random: &mut Random) -> Result<Vec<VertexId>> {
    let ids: Vec<_> = (0..ACCOUNTS_EACH).map(|at| Some(account(n, at))).collect();
    let mut opened = Vec::new();
    graph.add_vertices(names.account, &ids, &mut opened)?;
    for vertex in &opened {
        let balance = random.below(1000) as i64;
        graph.set_cell(ElementId::Vertex(*vertex), names.balance, Cell::One(balance.into()))?;
    }
    Ok(opened)
}

/// Moves money from an older account to a new one: a timed edge, two balances, and a memo of several values.
fn pay(graph: &mut dyn GraphWrite, names: &Names, opened: &[VertexId], n: u64, random: &mut Random) -> Result<()> {
    for (at, to) in opened.iter().enumerate() {
        let from_n = n - random.below(n.min(ACCOUNT_LIFE));
        let Some(from) = vertex(graph.as_view(), account(from_n, random.below(ACCOUNTS_EACH))) else { continue };
        let amount = random.below(50) as i64;
        let id = random.below(3).eq(&0).then(|| ExternalId::from(&*format!("payment {n} {at}")));
        let edge = NewEdge { source: from, target: *to, id, time: Some(Value::Int64((n * 10 + random.below(20)) as i64)) };
        let mut made = Vec::new();
        graph.add_edges(names.paid, &[edge], &mut made)?;
        graph.set_cell(ElementId::Edge(made[0]), names.total, Cell::One(amount.into()))?;
        for (vertex, change) in [(from, -amount), (*to, amount)] {
            let balance = number(graph.as_view(), vertex, "balance").unwrap_or(0) + change;
            graph.set_cell(ElementId::Vertex(vertex), names.balance, Cell::One(balance.into()))?;
        }
        add_memo(graph, names, from, format!("paid {amount} in {n}"))?;
    }
    Ok(())
}

fn add_memo(graph: &mut dyn GraphWrite, names: &Names, vertex: VertexId, text: String) -> Result<()> {
    let element = ElementId::Vertex(vertex);
    let mut entries = graph.as_view().cell(element, names.memo)?.into_entries();
    let ordinal = entries.last().map_or(0, |last| last.ordinal + 1);
    let meta = vec![(names.number, Value::Int64(i64::from(ordinal)))];
    entries.push(PropertyValue { ordinal, value: text.into(), meta });
    graph.set_cell(element, names.memo, Cell::Many(entries))
}

fn close_accounts(graph: &mut dyn GraphWrite, n: u64) -> Result<()> {
    let Some(old) = n.checked_sub(ACCOUNT_LIFE).filter(|old| *old > 0) else { return Ok(()) };
    let closed: Vec<_> = (0..ACCOUNTS_EACH).filter_map(|at| vertex(graph.as_view(), account(old, at))).collect();
    graph.remove_vertices(&closed)
}

fn forget_payments(graph: &mut dyn GraphWrite, names: &Names, n: u64, random: &mut Random) -> Result<()> {
    let Some(from) = vertex(graph.as_view(), account(n - random.below(n.min(ACCOUNT_LIFE)), 0)) else { return Ok(()) };
    let edges: Vec<EdgeRef> = hop(graph.as_view(), &[from], Direction::Both, Some(vec![names.paid])).edges;
    graph.remove_edges(&edges[..edges.len() / 2])
}

/// Replaces the edges of the previous batch by thousands of new ones.
fn replace_batch(graph: &mut dyn GraphWrite, names: &Names, n: u64, random: &mut Random) -> Result<()> {
    let scan = mangrove_graph::Scan::of(names.batch);
    let old = scan_vertices(graph.as_view(), &scan, 1000);
    graph.remove_vertices(&old)?;
    let ids: Vec<_> = (0..200).map(|at| Some(ExternalId::from(&*format!("batch {n} {at}")))).collect();
    let mut vertices = Vec::new();
    graph.add_vertices(names.batch, &ids, &mut vertices)?;
    let mut end = || vertices[(random.below(200) * random.below(200) / 200) as usize];
    let new_edge = |source, target| NewEdge { source, target, id: None, time: None };
    let edges: Vec<NewEdge> = (0..2000).map(|_| new_edge(end(), end())).collect();
    let mut made = Vec::new();
    graph.add_edges(names.linked, &edges, &mut made)?;
    let numbers: Vec<Value> = (0..made.len() as i64).map(|at| Value::Int64(at * n as i64)).collect();
    let column = column::array_of(&numbers.iter().map(Some).collect::<Vec<_>>()).expect("integers have an array form");
    let edges: Vec<EdgeRef> =
        made.iter().zip(&edges).map(|(id, edge)| EdgeRef { id: *id, source: edge.source, target: edge.target }).collect();
    graph.set_properties(Elements::Edges(&edges), names.number, &PropertyColumn::Typed(column))
}

fn sum_up(graph: &mut dyn GraphWrite, names: &Names, n: u64) -> Result<()> {
    let total = total(graph.as_view());
    let ledger = vertex(graph.as_view(), "ledger".into()).expect("the first transaction makes it");
    graph.set_cell(ElementId::Vertex(ledger), names.number, Cell::One((n as i64).into()))?;
    graph.set_cell(ElementId::Vertex(ledger), names.total, Cell::One(total.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::assert_same;
    use crate::oracle::Oracle;
    use mangrove_graph::Catalog;

    fn after(n: u64) -> Oracle {
        let mut graph = Oracle::default();
        (1..=n).for_each(|n| transaction(&mut graph, 5, n).unwrap());
        graph
    }

    #[test]
    fn the_same_number_of_transactions_gives_the_same_graph() {
        let graph = after(60);
        assert_same(&graph, &after(60));
        assert_eq!(last_transaction(&graph), 60);
        assert_balanced(&graph);
        let counts = graph.statistics().unwrap();
        assert!(counts.vertices.iter().sum::<u64>() < 500, "old elements go: {counts:?}");
        assert!(counts.edges.iter().sum::<u64>() > 2000, "{counts:?}");
    }

    #[test]
    fn a_transaction_half_done_shows() {
        let (whole, mut half) = (after(30), after(29));
        let names = Names::of(&mut half).unwrap();
        open_accounts(&mut half, &names, 30, &mut Random::new(1)).unwrap();
        assert!(std::panic::catch_unwind(|| assert_balanced(&half)).is_err());
        assert!(std::panic::catch_unwind(|| assert_same(&half, &whole)).is_err());
    }
}
