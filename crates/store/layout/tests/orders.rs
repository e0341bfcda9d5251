//! Orders of small and of planted graphs.

use mangrove_analytics::{Adjacent, Projection, watched};
use mangrove_graph::ReadContext;
use mangrove_layout::{Layout, Measures, Ties, measure, order, places};
use mangrove_testkit::graphs::{Random, rmat};

fn links(vertices: u32, edges: &[(u32, u32)]) -> Adjacent {
    let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    let graph = Projection::of_edges(vertices, (&sources, &targets), None, false).unwrap();
    watched(1, &ReadContext::default(), &mut |_| (), |run| graph.simple(run)).unwrap()
}

fn ordered(links: &Adjacent, layout: Layout, ties: Ties, threads: usize) -> Vec<u32> {
    watched(threads, &ReadContext::default(), &mut |_| (), |run| order(links.clone(), layout, ties, run)).unwrap()
}

fn measured(links: &Adjacent, order: &[u32]) -> Measures {
    watched(2, &ReadContext::default(), &mut |_| (), |run| measure(links, &places(order), 40, run)).unwrap()
}

/// Communities of 50 in which each vertex has 10 friends or more, and 2 elsewhere, under shuffled numbers.
fn planted(communities: u32) -> Adjacent {
    let mut random = Random::new(5);
    let vertices = communities * 50;
    let mut names: Vec<u32> = (0..vertices).collect();
    (1..names.len()).rev().for_each(|at| names.swap(at, random.below(at as u64 + 1) as usize));
    let mut edges = Vec::new();
    for vertex in 0..vertices {
        let inside = vertex / 50 * 50;
        for friend in 0..12 {
            let other = if friend < 10 { inside + random.below(50) as u32 } else { random.below(vertices.into()) as u32 };
            edges.push((names[vertex as usize], names[other as usize]));
        }
    }
    links(vertices, &edges)
}

#[test]
fn every_layout_places_each_vertex_once_whatever_the_threads() {
    let graphs = [
        links(0, &[]),
        links(1, &[(0, 0)]),
        links(7, &[]),
        links(3, &[(2, 0)]),
        links(1 << 13, &rmat(13, 60_000, 3)),
        planted(40),
    ];
    for links in &graphs {
        for layout in Layout::ALL {
            for ties in Ties::ALL {
                let found = ordered(links, layout, ties, 1);
                let mut all = found.clone();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..links.vertices() as u32), "{layout:?} {ties:?}");
                assert_eq!(found, ordered(links, layout, ties, 3), "{layout:?} {ties:?}");
            }
        }
    }
}

#[test]
fn communities_lie_together() {
    let links = planted(40);
    let [none, community, partition, degree, bfs] =
        Layout::ALL.map(|layout| measured(&links, &ordered(&links, layout, Ties::Uniform, 2)));
    for (name, found) in [("community", community), ("partition", partition)] {
        assert!(found.cost < 0.35 * none.cost, "{name}: {found:?}, not {none:?}");
        assert!(found.bits < 0.6 * none.bits && found.blocks * 2 < none.blocks, "{name}: {found:?}, not {none:?}");
        for other in [degree, bfs] {
            assert!(found.cost < other.cost && found.bits < other.bits && found.blocks < other.blocks, "{name}");
        }
    }
    // A path is in its own order from end to end.
    let path: Vec<(u32, u32)> = (0..999).map(|at| (at * 7 % 1000, (at + 1) * 7 % 1000)).collect();
    let path = self::links(1000, &path);
    let found = measured(&path, &ordered(&path, Layout::Bfs, Ties::Uniform, 1));
    assert_eq!(found.cost, 999.0);
    assert!(measured(&path, &ordered(&path, Layout::Community, Ties::Uniform, 1)).cost < 1.5 * 999.0);
}

#[test]
fn measures_are_those_of_the_definition() {
    // Places 0 1 2 3; the lists are 1 3 | 0 | 3 | 0 2.
    let links = links(4, &[(0, 1), (0, 3), (2, 3)]);
    let found = measured(&links, &[0, 1, 2, 3]);
    assert_eq!((found.cost, found.entries, found.lists, found.blocks), (1.0 + 3.0 + 1.0, 6, 4, 4));
    let bits = [2.0f64, 3.0, 2.0, 2.0, 4.0, 3.0].map(f64::log2).iter().sum::<f64>() + 4.0;
    assert!((found.bits - bits).abs() < 1e-9, "{} is not {bits}", found.bits);
    assert_eq!(found.distance(), 5.0 / 3.0);
    // The neighbours of the first are in three blocks of 102 records.
    let star: Vec<(u32, u32)> = [1, 101, 102, 205, 206].map(|other| (0, other)).into();
    let star = self::links(300, &star);
    let order: Vec<u32> = (0..300).collect();
    assert_eq!(measured(&star, &order).blocks, 3 + 5);
}

#[test]
fn friends_who_are_tied_more_are_nearer() {
    // Two triangles that share a vertex with a chain of friends of their own.
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6), (6, 7), (7, 8), (8, 6)];
    let links = links(9, &edges);
    for ties in Ties::ALL {
        let places = places(&ordered(&links, Layout::Community, ties, 1));
        for triangle in [[0, 1, 2], [3, 4, 5], [6, 7, 8]] {
            let mut at = triangle.map(|vertex: usize| places[vertex]);
            at.sort_unstable();
            assert_eq!(at[2] - at[0], 2, "{ties:?}: {places:?}");
        }
    }
}
