//! Moving vertices between communities, for Louvain and Leiden.
//!
//! Modularity (Newman, Girvan, Phys. Rev. E 69, 2004) compares the weight of the edges inside communities with what it would be by
//! chance: Q = Σ (inside/2m − γ·(degrees/2m)²), over all communities. Directions do not matter.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Projection};
use crate::run::Run;

/// How many vertices are looked at between looks at whether to stop.
const BETWEEN_LOOKS: u64 = 1 << 14;

/// A graph whose vertices may stand for many.
pub struct Network {
    links: Adjacent,
    /// The weight of the links of each vertex; those inside it count twice.
    degrees: Vec<f64>,
    /// The weight of the links inside each vertex, twice.
    inside: Vec<f64>,
    /// The weight of all links, twice.
    total: f64,
}

impl Network {
    pub fn new(graph: &Projection, run: &Run) -> Result<Self> {
        let weights = graph.incoming().weights();
        if weights.par_iter().any(|weight| *weight < 0.0 || weight.is_infinite()) {
            return Err(AnalyticsError::invalid("communities need weights that are finite and not negative"));
        }
        // An undirected graph has a loop twice in the list of its vertex.
        let times = if graph.is_directed() { 2.0 } else { 1.0 };
        let of_loops = |vertex: usize| {
            let loops = graph.incoming().weighted(vertex).filter(|(other, _)| *other as usize == vertex);
            loops.map(|(_, weight)| weight).sum::<f64>() * times
        };
        let inside: Vec<f64> = (0..graph.vertices()).into_par_iter().map(of_loops).collect();
        let network = Self::of(graph.simple_weighted(run)?, inside);
        match network.total.is_finite() {
            true => Ok(network),
            false => Err(AnalyticsError::invalid("the weights are too great to be added up")),
        }
    }

    /// A network of links that are in the lists of both ends.
    pub fn without_loops(links: Adjacent) -> Self {
        let inside = vec![0.0; links.vertices()];
        Self::of(links, inside)
    }

    pub fn links(&self) -> &Adjacent {
        &self.links
    }

    pub fn into_links(self) -> Adjacent {
        self.links
    }

    fn of(links: Adjacent, inside: Vec<f64>) -> Self {
        let degree = |vertex: usize| links.weighted(vertex).map(|(_, weight)| weight).sum::<f64>() + inside[vertex];
        let degrees: Vec<f64> = (0..inside.len()).map(degree).collect();
        let total = degrees.iter().sum();
        Self { links, degrees, inside, total }
    }

    pub fn vertices(&self) -> usize {
        self.inside.len()
    }

    /// The network in which each community is a vertex. Communities are numbered from 0 without gaps.
    pub fn joined(&self, communities: &[u32], count: usize) -> Self {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        communities.iter().enumerate().for_each(|(vertex, of)| members[*of as usize].push(vertex as u32));
        let (mut links, mut inside) = (Adjacent::empty(), vec![0.0; count]);
        let mut near = Near::new(count);
        for (community, members) in members.iter().enumerate() {
            for vertex in members {
                inside[community] += self.inside[*vertex as usize];
                near.look(self, *vertex as usize, communities);
            }
            near.found.sort_unstable();
            inside[community] += near.weights[community];
            let others = near.found.iter().filter(|other| **other as usize != community);
            links.push(others.map(|other| (*other, near.weights[*other as usize])), true);
            near.clear();
        }
        Self::of(links, inside)
    }

    /// The connected parts of communities.
    pub fn pieces(&self, communities: &[u32]) -> Vec<u32> {
        let (mut pieces, mut count, mut path) = (vec![u32::MAX; self.vertices()], 0, Vec::new());
        for first in 0..self.vertices() {
            if pieces[first] != u32::MAX {
                continue;
            }
            pieces[first] = count;
            path.push(first as u32);
            while let Some(vertex) = path.pop() {
                for other in self.links.of(vertex as usize) {
                    let at = *other as usize;
                    if pieces[at] == u32::MAX && communities[at] == communities[first] {
                        pieces[at] = count;
                        path.push(*other);
                    }
                }
            }
            count += 1;
        }
        pieces
    }

    pub fn modularity(&self, communities: &[u32], resolution: f64) -> f64 {
        let count = communities.iter().max().map_or(0, |last| *last as usize + 1);
        let (mut inside, mut degrees) = (vec![0.0; count], vec![0.0; count]);
        for (vertex, community) in communities.iter().enumerate() {
            inside[*community as usize] += self.inside[vertex];
            degrees[*community as usize] += self.degrees[vertex];
            for (other, weight) in self.links.weighted(vertex) {
                if communities[other as usize] == *community {
                    inside[*community as usize] += weight;
                }
            }
        }
        let of = |(inside, degrees): (&f64, &f64)| inside / self.total - resolution * (degrees / self.total).powi(2);
        if self.total > 0.0 { inside.iter().zip(&degrees).map(of).sum() } else { 0.0 }
    }

    /// Moves each vertex to the neighbouring community that gains most, until none gains. Returns whether any moved.
    pub fn move_all(&self, communities: &mut [u32], resolution: f64, run: &Run) -> Result<bool> {
        let mut degrees = vec![0.0; self.vertices()];
        communities.iter().enumerate().for_each(|(vertex, of)| degrees[*of as usize] += self.degrees[vertex]);
        let mut waiting: VecDeque<u32> = (0..self.vertices() as u32).collect();
        let (mut is_waiting, mut near) = (vec![true; self.vertices()], Near::new(self.vertices()));
        let (mut has_moved, mut looked) = (false, 0u64);
        while let Some(vertex) = waiting.pop_front() {
            looked += 1;
            if looked.is_multiple_of(BETWEEN_LOOKS) {
                run.advance(BETWEEN_LOOKS)?;
            }
            let vertex = vertex as usize;
            is_waiting[vertex] = false;
            let (own, degree) = (communities[vertex], self.degrees[vertex]);
            near.look(self, vertex, communities);
            degrees[own as usize] -= degree;
            let gain = |community: u32| {
                near.weights[community as usize] - resolution * degree * degrees[community as usize] / self.total
            };
            let (mut best, mut most) = (own, gain(own));
            for community in &near.found {
                let gained = gain(*community);
                if gained > most || gained == most && best != own && *community < best {
                    (best, most) = (*community, gained);
                }
            }
            degrees[best as usize] += degree;
            near.clear();
            if best != own {
                (communities[vertex], has_moved) = (best, true);
                for other in self.links.of(vertex).iter().filter(|other| communities[**other as usize] != best) {
                    if !std::mem::replace(&mut is_waiting[*other as usize], true) {
                        waiting.push_back(*other);
                    }
                }
            }
        }
        Ok(has_moved)
    }

    /// Splits communities into parts whose members hang together well (Traag, Waltman, van Eck: From Louvain to Leiden, Sci. Rep. 9,
    /// 2019, algorithm A.2). Each vertex begins alone, and joins the part of its community that gains most. The paper draws among
    /// those that gain; here the best is taken, so that the outcome is always the same.
    pub fn refined(&self, communities: &[u32], resolution: f64) -> Vec<u32> {
        let vertices = self.vertices();
        let mut parts: Vec<u32> = (0..vertices as u32).collect();
        let (mut of_part, mut of_community) = (self.degrees.clone(), vec![0.0; vertices]);
        communities.iter().enumerate().for_each(|(vertex, of)| of_community[*of as usize] += self.degrees[vertex]);
        // The weight of the links from each part to the rest of its community.
        let to_rest = |vertex: usize| {
            let within =
                self.links.weighted(vertex).filter(|(other, _)| communities[*other as usize] == communities[vertex]);
            within.map(|(_, weight)| weight).sum::<f64>()
        };
        let own: Vec<f64> = (0..vertices).map(to_rest).collect();
        let (mut outward, mut size) = (own.clone(), vec![1u32; vertices]);
        let mut near = Near::new(vertices);
        for vertex in 0..vertices {
            let (community, degree) = (communities[vertex], self.degrees[vertex]);
            let by_chance = |of: f64| resolution * of * (of_community[community as usize] - of) / self.total;
            if size[parts[vertex] as usize] > 1 || own[vertex] < by_chance(degree) {
                continue;
            }
            near.look_within(self, vertex, &parts, communities);
            let (mut best, mut most) = (parts[vertex], 0.0);
            for part in near.found.iter().filter(|part| **part != parts[vertex]) {
                if outward[*part as usize] < by_chance(of_part[*part as usize]) {
                    continue; // It hangs together with the rest less than by chance.
                }
                let gained = near.weights[*part as usize] - resolution * degree * of_part[*part as usize] / self.total;
                if gained > most || gained == most && gained > 0.0 && *part < best {
                    (best, most) = (*part, gained);
                }
            }
            if best != parts[vertex] {
                let alone = parts[vertex] as usize;
                let joined = near.weights[best as usize];
                outward[best as usize] += own[vertex] - 2.0 * joined;
                of_part[best as usize] += degree;
                size[best as usize] += 1;
                (size[alone], of_part[alone]) = (0, 0.0);
                parts[vertex] = best;
            }
            near.clear();
        }
        parts
    }
}

/// The weights of the links of a vertex to communities near it.
struct Near {
    weights: Vec<f64>,
    is_found: Vec<bool>,
    found: Vec<u32>,
}

impl Near {
    fn new(communities: usize) -> Self {
        Self { weights: vec![0.0; communities], is_found: vec![false; communities], found: Vec::new() }
    }

    fn look(&mut self, network: &Network, vertex: usize, communities: &[u32]) {
        network.links.weighted(vertex).for_each(|(other, weight)| self.add(communities[other as usize], weight));
    }

    fn look_within(&mut self, network: &Network, vertex: usize, parts: &[u32], communities: &[u32]) {
        let within = network.links.weighted(vertex).filter(|(other, _)| communities[*other as usize] == communities[vertex]);
        within.for_each(|(other, weight)| self.add(parts[other as usize], weight));
    }

    fn add(&mut self, community: u32, weight: f64) {
        if !std::mem::replace(&mut self.is_found[community as usize], true) {
            self.found.push(community);
        }
        self.weights[community as usize] += weight;
    }

    fn clear(&mut self) {
        for community in self.found.drain(..) {
            self.weights[community as usize] = 0.0;
            self.is_found[community as usize] = false;
        }
    }
}

/// Numbers communities from 0 in the order of their first members. Returns how many there are.
pub fn renumber(communities: &mut [u32]) -> usize {
    let mut numbers = vec![u32::MAX; communities.iter().max().map_or(0, |last| *last as usize + 1)];
    let mut count = 0;
    for community in communities {
        let number = &mut numbers[*community as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *community = *number;
    }
    count as usize
}
