//! Which workspace a call is about, and which servers it uses.

use std::path::{Path, PathBuf};

use feedback::runtime::discover::{self, Discovery};
use feedback::runtime::lookup::SearchPath;
use miette::Result;

use crate::output::wrong;

/// The files, each once, and the workspace that they belong to, absolute and with links resolved.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<PathBuf>,
}

impl Workspace {
    /// With `root` that one; else the nearest folder above all files that is a Git checkout; else the
    /// current folder, if it holds them all; else the nearest folder above them all.
    pub(crate) fn of(files: &[PathBuf], root: Option<&Path>) -> Result<Self> {
        let mut unique = Vec::new();
        for file in files {
            let file = existing(file)?;
            if !unique.contains(&file) {
                unique.push(file);
            }
        }
        let files = unique;
        let root = match root {
            Some(root) => folder(root)?,
            None => guess(&files),
        };
        if let Some(outside) = files.iter().find(|file| !file.starts_with(&root)) {
            let what = format!("{} is outside the workspace {}", outside.display(), root.display());
            return Err(wrong(what, "name a folder that holds every file with --root"));
        }
        Ok(Self { root, files })
    }
}

fn existing(file: &Path) -> Result<PathBuf> {
    let help = "name existing files; edits are read from disk";
    let real = file.canonicalize().map_err(|error| wrong(format!("{}: {error}", file.display()), help))?;
    if !real.is_file() {
        return Err(wrong(format!("{} is not a regular file", file.display()), help));
    }
    Ok(real)
}

fn folder(root: &Path) -> Result<PathBuf> {
    let real = root.canonicalize().ok().filter(|real| real.is_dir());
    real.ok_or_else(|| wrong(format!("--root {} is not a folder", root.display()), "name an existing folder"))
}

fn guess(files: &[PathBuf]) -> PathBuf {
    let holds_all = |folder: &Path| files.iter().all(|file| file.starts_with(folder));
    let above = || files.first().into_iter().flat_map(|file| file.ancestors().skip(1)).filter(|dir| holds_all(dir));
    let checkout = above().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    let current = || std::env::current_dir().ok().filter(|current| holds_all(current));
    checkout.or_else(current).or_else(|| above().next().map(Path::to_owned)).unwrap_or_else(|| "/".into())
}

/// The servers to use: the one that the user names, or those of the built-in table that are installed.
pub(crate) fn servers(server: Option<&str>, workspace: &Workspace) -> Result<Discovery> {
    let search = SearchPath::of_environment(Some(&workspace.root));
    let Some(line) = server else { return Ok(discover::discover_for(&workspace.files, &search)) };
    let argv = rooted(&split(line)?)?;
    let name = server_name(&argv);
    let spec = discover::custom(&name, &argv, &workspace.files, &search)
        .map_err(|error| wrong(error, "name the server's program by its path, or add its folder to PATH"))?;
    let mut notes = discover::notes(&search);
    // One that is named by its path was not looked for.
    if let [program, ..] = argv.as_slice()
        && !program.contains('/')
    {
        notes.extend(discover::refused_links(program, &search));
    }
    Ok(Discovery { servers: vec![spec], notes })
}

/// A command line as words, by a shell's rules for quotes.
pub(crate) fn split(line: &str) -> Result<Vec<String>> {
    let help = "quote it as for a shell, such as --server 'pyright-langserver --stdio'";
    match shell_words::split(line) {
        Ok(argv) if argv.is_empty() => Err(wrong("the server's command is empty", help)),
        Ok(argv) => Ok(argv),
        Err(error) => Err(wrong(format!("the server's command `{line}`: {error}"), help)),
    }
}

/// The command as it can be run from another folder: its program, if it is a path, and every argument
/// that names an existing file become absolute.
pub(crate) fn rooted(command: &[String]) -> Result<Vec<String>> {
    let absolute = |word: &String| {
        let path = std::path::absolute(word).map_err(|error| wrong(format!("`{word}`: {error}"), "name a program"))?;
        path.into_os_string()
            .into_string()
            .map_err(|path| wrong(format!("{} is not UTF-8", path.display()), "run from a folder whose path is"))
    };
    let words = command.iter().enumerate().map(|(at, word)| {
        let is_path = if at == 0 { word.contains('/') } else { Path::new(word).is_file() };
        if is_path { absolute(word) } else { Ok(word.clone()) }
    });
    words.collect()
}

/// What a server is called: the last part of its program's path.
pub(crate) fn server_name(argv: &[String]) -> String {
    let program = argv.first().map(Path::new).and_then(Path::file_name);
    program.map_or_else(|| "server".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_the_checkout_around_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/.git")).unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        let file = |name: &str| {
            std::fs::write(top.join(name), "").unwrap();
            top.join(name)
        };
        let (inner, deep, outer) = (file("a/one.py"), file("a/b/two.py"), file("three.py"));
        let root = |files: &[PathBuf]| Workspace::of(files, None).unwrap().root;
        assert_eq!(root(std::slice::from_ref(&deep)), top.join("a"));
        assert_eq!(root(&[inner.clone(), deep.clone()]), top.join("a"));
        assert_eq!(root(&[inner.clone(), outer.clone()]), top);
        assert_eq!(Workspace::of(std::slice::from_ref(&deep), Some(&top.join("a/b"))).unwrap().root, top.join("a/b"));

        let refusals: [(&[PathBuf], Option<PathBuf>, &str); 4] = [
            (&[top.join("absent.py")], None, "No such file"),
            (std::slice::from_ref(&top), None, "is not a regular file"),
            (std::slice::from_ref(&outer), Some(top.join("a")), "is outside the workspace"),
            (std::slice::from_ref(&inner), Some(top.join("none")), "is not a folder"),
        ];
        for (files, root, expected) in refusals {
            let Err(error) = Workspace::of(files, root.as_deref()) else { panic!("{expected}") };
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_command_line_is_split_as_a_shell_would() {
        assert_eq!(split("a --b 'c d' \"e\"").unwrap(), ["a", "--b", "c d", "e"]);
        assert!(split("a 'b").is_err());
        assert!(split("  ").is_err());
        assert_eq!(server_name(&split("/usr/bin/clangd --log=error").unwrap()), "clangd");
    }
}
