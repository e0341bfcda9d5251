//! What flows between steps, as far as it decides which steps may follow.

/// What traversers stand on.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Vertex,
    /// Whether `otherV()` knows where the edge was come from.
    Edge {
        entered: bool,
    },
    VertexProperty,
    Property,
    /// Numbers that are equal only if they are of one type too.
    Number,
    Text,
    Date,
    Id,
    /// Values of many types.
    Mixed,
    Path,
    Record(Vec<(String, Kind)>),
    Map(Box<Kind>, Box<Kind>),
    Entry(Box<Kind>, Box<Kind>),
    /// Whether the order of its items is defined.
    List(Box<Kind>, bool),
    Set(Box<Kind>),
    Tree,
}

impl Kind {
    /// Whether two of it that are not the same have an order.
    pub fn has_total_order(&self) -> bool {
        matches!(self, Kind::Vertex | Kind::Edge { .. } | Kind::Number | Kind::Text | Kind::Date | Kind::Id)
    }

    /// Whether two of it are equal whatever order things came in.
    pub fn is_steady(&self) -> bool {
        match self {
            Kind::List(items, ordered) => *ordered && items.is_steady(),
            Kind::Set(items) => items.is_steady(),
            Kind::Map(a, b) | Kind::Entry(a, b) => a.is_steady() && b.is_steady(),
            Kind::Record(fields) => fields.iter().all(|(_, kind)| kind.is_steady()),
            Kind::Path | Kind::Tree | Kind::Mixed => false,
            _ => true,
        }
    }

    pub fn is_element(&self) -> bool {
        matches!(self, Kind::Vertex | Kind::Edge { .. })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The query itself.
    Top,
    /// Runs for each traverser, or for the traversers of a branch, and gives on what it comes to.
    Below,
    /// A test: nobody sees what it comes to, and it may stop at the first result.
    Test,
}

#[derive(Clone, Debug)]
pub struct State {
    pub kind: Kind,
    pub place: Place,
    /// How many children it is inside.
    pub depth: usize,
    /// The order traversers come in is defined.
    pub ordered: bool,
    /// Where a traverser has been is defined.
    pub past: bool,
    /// Some list that a traverser has been at, or stands on, has no defined order.
    pub bags: bool,
    /// What `as()` named and a path still holds.
    pub labels: Vec<(String, Kind)>,
    /// What `aggregate()` gathered before all that comes now.
    pub gathered: Vec<(String, Kind)>,
    /// All side effects, to be shown at the end.
    pub side_effects: Vec<String>,
    pub sack: bool,
}

impl State {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            place: Place::Top,
            depth: 0,
            ordered: false,
            past: true,
            bags: false,
            labels: Vec::new(),
            gathered: Vec::new(),
            side_effects: Vec::new(),
            sack: false,
        }
    }

    /// In the place of another state.
    pub fn at(self, other: &State) -> Self {
        Self { place: other.place, depth: other.depth, ..self }
    }

    /// A child that starts from where this is.
    pub fn below(&self, place: Place) -> Self {
        let place = if self.place == Place::Test { Place::Test } else { place };
        Self { place, depth: self.depth + 1, ordered: false, ..self.clone() }
    }

    /// Traversers moved to something else, in the order they had.
    pub fn moved(&mut self, kind: Kind) {
        self.bags |= !kind.is_steady();
        self.kind = kind;
    }

    /// Traversers moved to what has no order.
    pub fn spread(&mut self, kind: Kind) {
        self.ordered = false;
        self.moved(kind);
    }

    /// One of many was kept, and which is not defined but for what it stands on.
    pub fn forget_past(&mut self) {
        self.past = false;
        self.sack = false;
        self.labels.clear();
        if let Kind::Edge { entered } = &mut self.kind {
            *entered = false;
        }
    }

    /// All became one, which has been nowhere.
    pub fn reduced(&mut self, kind: Kind) {
        self.labels.clear();
        self.past = true;
        self.ordered = true;
        self.bags = !kind.is_steady();
        self.kind = kind;
    }
}
