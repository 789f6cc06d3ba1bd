//! The loop broken on purpose, in one named way each, so that the checks of a judge can be shown to
//! fail. The names are always there; a fault can be switched on only with the cargo feature `mutants`.

/// One deliberate fault of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Takes a push of any version for the newest text.
    TakesAnyPush,
    /// Takes a push without a version at once.
    UnversionedAtOnce,
    /// Takes the answer to a pull that was sent before the newest change.
    TakesOldPull,
    /// Reports findings of an earlier text as current when nothing new has come.
    OldPassedOffAsNew,
    /// Concludes clean when the budget ends in silence.
    SilenceIsClean,
    /// Concludes clean when the server died.
    DeadIsClean,
    /// Takes `unchanged` for an empty report.
    UnchangedIsEmpty,
    /// Ignores that the server says it is still loading.
    IgnoresLoading,
    /// Never answers `workspace/configuration`.
    LeavesConfigurationUnanswered,
    /// Keeps no budget.
    NeverTimesOut,
    /// Lists every finding, however many.
    NoLineCap,
    /// Gives messages at any length.
    NoMessageCap,
    /// Cuts the list without saying how many were left out.
    CutsInSilence,
    /// Lists findings in the order in which they came, so that errors fall behind warnings.
    ArrivalOrder,
    /// Drops findings without a severity.
    DropsMissingSeverity,
    /// Counts columns in bytes, whatever was negotiated.
    ColumnsInBytes,
    /// Sends every text under the same version.
    VersionStuck,
    /// Sizes the replaced range by the new text instead of the old.
    RangeOfNewText,
    /// Opens the document again at every edit.
    OpensTwice,
    /// Starts a second process when a second call comes during the start.
    DoubleSpawn,
    /// Leaves server processes running at the end.
    LeavesOrphans,
    /// Fails the call when the server dies.
    FailsTheEdit,
    /// Gives the same notice again with every report.
    RepeatsNotices,
    /// Delivers late results of a text that is no longer the newest.
    LateThoughStale,
    /// Forgets the open documents when a server is started again.
    NoReplay,
    /// Passes control and bidirectional characters on.
    RawText,
    /// Reports equal findings as often as they were sent.
    Doubles,
}

impl Fault {
    /// Every fault, in a stable order.
    pub const ALL: &'static [Self] = &[
        Self::TakesAnyPush,
        Self::UnversionedAtOnce,
        Self::TakesOldPull,
        Self::OldPassedOffAsNew,
        Self::SilenceIsClean,
        Self::DeadIsClean,
        Self::UnchangedIsEmpty,
        Self::IgnoresLoading,
        Self::LeavesConfigurationUnanswered,
        Self::NeverTimesOut,
        Self::NoLineCap,
        Self::NoMessageCap,
        Self::CutsInSilence,
        Self::ArrivalOrder,
        Self::DropsMissingSeverity,
        Self::ColumnsInBytes,
        Self::VersionStuck,
        Self::RangeOfNewText,
        Self::OpensTwice,
        Self::DoubleSpawn,
        Self::LeavesOrphans,
        Self::FailsTheEdit,
        Self::RepeatsNotices,
        Self::LateThoughStale,
        Self::NoReplay,
        Self::RawText,
        Self::Doubles,
    ];

    /// Its stable kebab-case name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The law that it breaks, by name.
    #[must_use]
    pub fn law(self) -> &'static str {
        self.row().1
    }

    /// What it does wrong, as a sentence fragment.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::TakesAnyPush => ("takes-any-push", "freshness", "takes a push of any version for the newest text"),
            Self::UnversionedAtOnce => ("unversioned-at-once", "freshness", "takes a push without a version at once"),
            Self::TakesOldPull => {
                ("takes-old-pull", "freshness", "takes the answer to a pull sent before the newest change")
            }
            Self::OldPassedOffAsNew => {
                ("old-passed-off-as-new", "freshness", "reports an earlier text's findings as current")
            }
            Self::SilenceIsClean => ("silence-is-clean", "honesty", "says clean when the budget ends in silence"),
            Self::DeadIsClean => ("dead-is-clean", "honesty", "says clean when the server died"),
            Self::UnchangedIsEmpty => ("unchanged-is-empty", "honesty", "takes `unchanged` for an empty report"),
            Self::IgnoresLoading => ("ignores-loading", "honesty", "takes results of a server that is still loading"),
            Self::LeavesConfigurationUnanswered => {
                ("leaves-configuration-unanswered", "isolation", "never answers workspace/configuration")
            }
            Self::NeverTimesOut => ("never-times-out", "bounds", "keeps no budget"),
            Self::NoLineCap => ("no-line-cap", "bounds", "lists every finding, however many"),
            Self::NoMessageCap => ("no-message-cap", "bounds", "gives messages at any length"),
            Self::CutsInSilence => {
                ("cuts-in-silence", "completeness", "cuts the list without counting what is left out")
            }
            Self::ArrivalOrder => ("arrival-order", "completeness", "lets errors fall behind warnings"),
            Self::DropsMissingSeverity => {
                ("drops-missing-severity", "completeness", "drops findings without a severity")
            }
            Self::ColumnsInBytes => ("columns-in-bytes", "sync", "counts columns in bytes, whatever was negotiated"),
            Self::VersionStuck => ("version-stuck", "sync", "sends every text under the same version"),
            Self::RangeOfNewText => ("range-of-new-text", "sync", "sizes the replaced range by the new text"),
            Self::OpensTwice => ("opens-twice", "sync", "opens the document again at every edit"),
            Self::DoubleSpawn => ("double-spawn", "isolation", "starts a second process during the start"),
            Self::LeavesOrphans => ("leaves-orphans", "isolation", "leaves server processes running at the end"),
            Self::FailsTheEdit => ("fails-the-edit", "isolation", "fails the call when the server dies"),
            Self::RepeatsNotices => ("repeats-notices", "isolation", "gives the same notice with every report"),
            Self::LateThoughStale => ("late-though-stale", "recovery", "delivers late results of an older text"),
            Self::NoReplay => ("no-replay", "recovery", "forgets open documents when a server starts again"),
            Self::RawText => ("raw-text", "safety", "passes control and bidirectional characters on"),
            Self::Doubles => ("doubles", "economy", "reports equal findings as often as they were sent"),
        }
    }
}

/// The fault that is on, if any. Without the feature it holds nothing and every test of it is `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    #[cfg(feature = "mutants")]
    pub(crate) on: Option<Fault>,
}

impl Faults {
    /// Whether this fault is on.
    #[cfg(feature = "mutants")]
    pub(crate) fn has(self, fault: Fault) -> bool {
        self.on == Some(fault)
    }

    /// Whether this fault is on: never, without the feature.
    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "the same signature as with the feature")]
    pub(crate) const fn has(self, _fault: Fault) -> bool {
        false
    }
}
