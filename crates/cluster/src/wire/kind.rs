//! The kinds of calls, for those who count them.

use super::call::Call;

macro_rules! kinds {
    ($($kind:ident $name:literal),* $(,)?) => {
        /// A kind of call.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum CallKind {
            $($kind),*
        }

        impl CallKind {
            /// All of them. The number of each is its place here.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Its name in metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name),*
                }
            }
        }

        impl Call {
            pub fn kind(&self) -> CallKind {
                match self {
                    $(Self::$kind { .. } => CallKind::$kind),*
                }
            }
        }
    };
}

kinds! {
    Hello "hello",
    Applied "applied",
    Hold "hold",
    Release "release",
    Ask "ask",
    Run "run",
    Outcome "outcome",
    Begin "begin",
    Since "since",
    Part "part",
    Base "base",
    CopyShard "copy_shard",
    CopyLog "copy_log",
    CutLog "cut_log",
    Commit "commit",
    Rollback "rollback",
    Check "check",
    WasMade "was_made",
    Status "status",
    Forget "forget",
    Stop "stop",
    TakeShard "take_shard",
    DropShard "drop_shard",
    Rounds "rounds",
    Fragment "fragment",
    About "about",
    Allow "allow",
    LakeMap "lake_map",
    Meet "meet",
    AskLake "ask_lake",
    LakeFragment "lake_fragment",
}
