//! A graph on nodes, which are other processes. They have one graph only, so scenarios use it one after the other.

use mangrove::backend::Backend;
use mangrove::cluster::{ClusterBackend, GraphAddress};
use mangrove::{Parameters, Patience, QueryOptions, Writer};
use mangrove_graph::{GraphView, GraphWrite, Value};

use crate::database::TIMEOUT;
use crate::services;

pub struct Nodes {
    database: mangrove::Database,
    /// The same graph, to be written without a query language.
    backend: ClusterBackend,
}

impl Nodes {
    /// Connects to the nodes at an address.
    pub fn connect(address: &str) -> Result<Self, String> {
        let parsed: GraphAddress = address.parse().map_err(|e| format!("{address}: {e}"))?;
        let backend = ClusterBackend::connect(&parsed, false).map_err(|e| e.to_string())?;
        let database = mangrove::Database::connect(address).map_err(|e| e.to_string())?;
        for (name, service) in services::named() {
            database.register_procedure(name, service).map_err(|e| e.to_string())?;
        }
        Ok(Self { database, backend })
    }

    /// Removes everything, also the names that elements had. What they held before must not decide how later ones behave.
    pub fn clear(&self) -> Result<(), String> {
        self.query("g.V().drop()", &Parameters::new(), true)?;
        self.database.drop_unused().map(drop).map_err(|e| e.to_string())
    }

    /// All results of a query. With `keep` its changes are committed, otherwise they are undone.
    pub fn query(&self, text: &str, parameters: &Parameters, keep: bool) -> Result<Vec<Value>, String> {
        let options = QueryOptions { timeout: Some(TIMEOUT), ..QueryOptions::default() };
        let values = if keep {
            let results = self.database.query(text, parameters, &options).and_then(|mut results| results.values());
            results.map_err(|e| e.to_string())?
        } else {
            let mut transaction = self.database.transaction().map_err(|e| e.to_string())?;
            transaction.query(text, parameters, &options).map_err(|e| e.to_string())?.values
        };
        Ok(values.into_iter().filter(|value| !services::is_own_of_database(value)).collect())
    }

    pub fn read<T>(&self, read: impl FnOnce(&dyn GraphView) -> Result<T, String>) -> Result<T, String> {
        read(&*self.database.snapshot().map_err(|e| e.to_string())?)
    }

    /// Changes the graph in one transaction. Without `keep`, or on an error, it discards the changes.
    pub fn write<T>(&self, keep: bool, write: impl FnOnce(&mut dyn GraphWrite) -> Result<T, String>) -> Result<T, String> {
        let mut transaction = self.backend.begin(Writer::this_thread(), Patience::ENDLESS).map_err(|e| e.to_string())?;
        let result = write(transaction.graph())?;
        if keep {
            transaction.commit().map_err(|e| e.to_string())?;
        }
        Ok(result)
    }
}
