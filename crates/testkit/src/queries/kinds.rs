//! The kinds of values between steps, as far as they decide which steps may follow.

/// What traversers stand on.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Vertex,
    /// `entered` is true if `otherV()` knows which end the traverser came from.
    Edge {
        entered: bool,
    },
    VertexProperty,
    Property,
    /// Numbers that are equal only if their types are equal too.
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
    /// The flag says whether the order of the items is defined.
    List(Box<Kind>, bool),
    Set(Box<Kind>),
    Tree,
}

impl Kind {
    /// Whether any two different values of this kind have an order.
    pub fn has_total_order(&self) -> bool {
        matches!(self, Kind::Vertex | Kind::Edge { .. } | Kind::Number | Kind::Text | Kind::Date | Kind::Id)
    }

    /// Whether equality of two values does not depend on the order of other things.
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
pub enum Nesting {
    /// The query itself.
    Top,
    /// Runs for each traverser, or for the traversers of a branch. Later steps see its results.
    Below,
    /// A test. Nobody sees its results, and it may stop at the first one.
    Test,
}

#[derive(Clone, Debug)]
pub struct State {
    pub kind: Kind,
    pub place: Nesting,
    /// The number of enclosing children.
    pub depth: usize,
    /// The order of traversers is defined.
    pub ordered: bool,
    /// The paths of traversers are defined.
    pub past: bool,
    /// Some list that a traverser has visited or stands on has no defined order.
    pub bags: bool,
    /// The labels that `as()` gave and a path still holds.
    pub labels: Vec<(String, Kind)>,
    /// What `aggregate()` has gathered completely by now.
    pub gathered: Vec<(String, Kind)>,
    /// All side effects. The end of the query shows them.
    pub side_effects: Vec<String>,
    pub sack: bool,
}

impl State {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            place: Nesting::Top,
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

    /// The state with the position of another one.
    pub fn at(self, other: &State) -> Self {
        Self { place: other.place, depth: other.depth, ..self }
    }

    /// The state of a child that starts from here.
    pub fn below(&self, place: Nesting) -> Self {
        let place = if self.place == Nesting::Test { Nesting::Test } else { place };
        Self { place, depth: self.depth + 1, ordered: false, ..self.clone() }
    }

    /// Traversers moved to something else, and kept their order.
    pub fn moved(&mut self, kind: Kind) {
        self.bags |= !kind.is_steady();
        self.kind = kind;
    }

    /// Traversers moved, and their order is no longer defined.
    pub fn spread(&mut self, kind: Kind) {
        self.ordered = false;
        self.moved(kind);
    }

    /// One of several traversers was kept. Only its value is defined, not which one it is.
    pub fn forget_past(&mut self) {
        self.past = false;
        self.sack = false;
        self.labels.clear();
        if let Kind::Edge { entered } = &mut self.kind {
            *entered = false;
        }
    }

    /// All traversers became one, with an empty path.
    pub fn reduced(&mut self, kind: Kind) {
        self.labels.clear();
        self.past = true;
        self.ordered = true;
        self.bags = !kind.is_steady();
        self.kind = kind;
    }
}
