//! Small workspaces with one file that can be broken and fixed at will, by language: what server checks
//! and latency profiles edit. Facts about what servers say of them are here too; no I/O but `write_to`.

use std::io;
use std::path::{Path, PathBuf};

/// A workspace with one file whose text can be broken and fixed.
///
/// The broken line moves down as `k` rises, so the line of a reported error tells which text the server
/// looked at, whatever version it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// The LSP language id of the file, such as `python`.
    pub language_id: String,
    /// The name of the file, relative to the workspace.
    pub file_name: String,
    /// Other files of the workspace: relative name and text.
    pub files: Vec<(String, String)>,
    /// What servers are expected to say of the broken text.
    pub expects: Expects,
    texts: Texts,
    play: Vec<String>,
}

/// What is known about the finding in the broken text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expects {
    /// Whether the broken line's number is known; [`Fixture::broken_line`] has it then.
    pub line: bool,
    /// Words of which at least one stands in the message or is the code, if any are known.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Texts {
    /// `pre + pad * k + (bad | ok) + post`, with `{k}` replaced in the middle part.
    Template { pre: String, pad: String, bad: String, ok: String, post: String, wide: String },
    /// Texts of a user; `k` blank lines at the end make each text new.
    Given { broken: String, fixed: String },
}

/// One row of the table of built-in fixtures.
struct Row {
    /// Base names of commands that speak it.
    commands: &'static [&'static str],
    language_id: &'static str,
    file_name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// `pre`, `pad`, `bad`, `ok`, `post`.
    texts: [&'static str; 5],
    words: &'static [&'static str],
    /// What may stand before the middle part on its line, with characters of two and of four bytes.
    wide: &'static str,
    /// Fragments that random edits insert, some of them valid, some not, some with characters of two
    /// to four bytes.
    play: &'static [&'static str],
}

const PYTHON_PLAY: &[&str] = &[
    "print(undefined_name)\n",
    "x: int = 'é'\n",
    "def g(b: str) -> int:\n    return b\n",
    "s = '𝒳😀' + 1\n",
    "# naïve — 漢字\r\n",
    "class C:\n    v: int = 'v'\n",
    "if True:\n    y = 1 + ''\n",
    "(",
    ")",
    "\"",
    "a",
    " ",
    "\n",
    "\r\n",
    "é",
    "😀",
];

const C_PLAY: &[&str] = &[
    "int g(void) { return h1; }\n",
    "const char *s = \"é😀\"; int after = undefined_a;\n",
    "/* naïve — 漢字 */\r\n",
    "static int z = \"s\";\n",
    "struct p { int x; };\n",
    "int f(int a) { return a + b; }\n",
    "{",
    "}",
    ";",
    "\"",
    "a",
    " ",
    "\n",
    "\r\n",
    "é",
    "😀",
];

const TYPESCRIPT_PLAY: &[&str] = &[
    "export const c: number = 'é';\n",
    "function g(b: string): number { return b; }\n",
    "const t = '𝒳😀'; const u: number = t;\n",
    "// naïve — 漢字\r\n",
    "interface P { x: number }\n",
    "console.log(undefinedName);\n",
    "const p: P = { x: 's' };\n",
    "{",
    "}",
    "\"",
    "`",
    "a",
    " ",
    "\n",
    "\r\n",
    "é",
    "😀",
];

const FAKE_PLAY: &[&str] = &[
    "ERROR E1 boom\n",
    "é😀 ERROR E2 behind wide characters\n",
    "WARNING W1 hm\r\n",
    "ok\n",
    "ERROR",
    "E",
    "a",
    " ",
    "\n",
    "\r\n",
    "é",
    "😀",
];

const TABLE: &[Row] = &[
    Row {
        commands: &[
            "pyright-langserver",
            "pyright-python-langserver",
            "basedpyright-langserver",
            "ty",
            "pyrefly",
            "pylance-langserver",
        ],
        language_id: "python",
        file_name: "a.py",
        files: &[("pyrightconfig.json", "{}\n"), ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"0\"\n")],
        texts: ["def f(a: int) -> int:\n    return a\n\n\n", "# pad\n", "x{k}: int = \"s\"\n", "x{k}: int = 1\n", ""],
        words: &["reportAssignmentType", "invalid-assignment", "bad-assignment", "assignable"],
        wide: "\"é😀\"; ",
        play: PYTHON_PLAY,
    },
    Row {
        commands: &["ruff", "pylsp", "pyflakes-lsp"],
        language_id: "python",
        file_name: "a.py",
        files: &[],
        texts: ["import os\n\nprint(os.name)\n", "# pad\n", "print(missing_{k})\n", "print({k})\n", ""],
        words: &["F821", "ndefined name"],
        wide: "\"é😀\"; ",
        play: PYTHON_PLAY,
    },
    Row {
        commands: &["jedi-language-server"],
        language_id: "python",
        file_name: "a.py",
        files: &[],
        texts: ["a = 1\n", "# pad\n", "b{k} = = 2\n", "b{k} = 2\n", ""],
        words: &["SyntaxError"],
        wide: "\"é😀\"; ",
        play: PYTHON_PLAY,
    },
    Row {
        commands: &["tsc", "tsgo", "typescript-language-server", "vtsls"],
        language_id: "typescript",
        file_name: "a.ts",
        files: &[(
            "tsconfig.json",
            concat!(
                r#"{"compilerOptions":{"strict":true,"target":"es2022","module":"esnext","skipLibCheck":true,"types":[]},"#,
                r#""include":["*.ts"]}"#,
                "\n"
            ),
        )],
        texts: [
            "export const a: number = 1;\n",
            "// pad\n",
            "export const b{k}: number = \"s\";\n",
            "export const b{k}: number = 2;\n",
            "",
        ],
        words: &["2322", "not assignable"],
        wide: "/* é😀 */ ",
        play: TYPESCRIPT_PLAY,
    },
    Row {
        commands: &["clangd", "ccls"],
        language_id: "c",
        file_name: "a.c",
        files: &[("compile_flags.txt", "-Wall\n")],
        texts: [
            "int main(void) {\n",
            "  // pad\n",
            "  int y{k} = undefined_{k};\n",
            "  int y{k} = 0;\n",
            "  return y{k};\n}\n",
        ],
        words: &["undeclared_var_use", "undeclared"],
        wide: "/* é😀 */ ",
        play: C_PLAY,
    },
    Row {
        commands: &["fake-lsp"],
        language_id: "fake",
        file_name: "a.fake",
        files: &[],
        texts: ["ok\n", "pad\n", "ERROR E{k} boom\n", "ok {k}\n", ""],
        words: &["boom"],
        wide: "é😀 ",
        play: FAKE_PLAY,
    },
];

impl Row {
    fn fixture(&self) -> Fixture {
        let [pre, pad, bad, ok, post] = self.texts.map(str::to_owned);
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Fixture {
            language_id: self.language_id.to_owned(),
            file_name: self.file_name.to_owned(),
            files: self.files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            expects: Expects { line: true, words: own(self.words) },
            texts: Texts::Template { pre, pad, bad, ok, post, wide: self.wide.to_owned() },
            play: own(self.play),
        }
    }
}

impl Fixture {
    /// The built-in fixture for a server, by the base name of the first word of its command that is
    /// known: `pyright-langserver --stdio`, `npx tsc --lsp`, `node /x/vtsls.js`.
    #[must_use]
    pub fn for_command<S: AsRef<str>>(command: &[S]) -> Option<Self> {
        command.iter().find_map(|word| {
            let path = Path::new(word.as_ref());
            let names = [path.file_name()?, path.file_stem()?].map(|name| name.to_string_lossy().into_owned());
            let row =
                TABLE.iter().find(|row| row.commands.iter().any(|command| names.iter().any(|name| name == command)));
            row.map(Row::fixture)
        })
    }

    /// The built-in fixture for a language id.
    #[must_use]
    pub fn for_language(language_id: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.language_id == language_id).map(Row::fixture)
    }

    /// The language ids of the built-in fixtures, each once.
    #[must_use]
    pub fn languages() -> Vec<&'static str> {
        let mut ids: Vec<_> = TABLE.iter().map(|row| row.language_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// A fixture from a broken and a fixed text of the same file.
    ///
    /// `language_id` is guessed from the file's extension if it is not given. `files` is empty: the
    /// file's own surroundings are the caller's.
    #[must_use]
    pub fn of_texts(file_name: &str, language_id: Option<&str>, broken: &str, fixed: &str) -> Self {
        let language_id = language_id.map_or_else(|| language_of(Path::new(file_name)), str::to_owned);
        let base = Self::for_language(&language_id);
        let mut play: Vec<String> = broken
            .split_inclusive('\n')
            .chain(fixed.split_inclusive('\n'))
            .filter(|line| line.len() < 200)
            .take(64)
            .map(str::to_owned)
            .collect();
        play.extend(base.map_or_else(
            || ["a", " ", "\n", "\r\n", "é", "😀", "(", "\""].map(str::to_owned).into(),
            |base| base.play,
        ));
        Self {
            language_id,
            file_name: file_name.to_owned(),
            files: Vec::new(),
            expects: Expects::default(),
            texts: Texts::Given { broken: broken.to_owned(), fixed: fixed.to_owned() },
            play,
        }
    }

    /// With the other files that the built-in fixture of this language brings, for texts that come without
    /// a workspace of their own.
    #[must_use]
    pub fn with_surroundings(mut self) -> Self {
        if let Some(base) = Self::for_language(&self.language_id) {
            self.files.extend(base.files);
        }
        self
    }

    /// The text with an error in it. Different for every `k`.
    #[must_use]
    pub fn broken(&self, k: usize) -> String {
        match &self.texts {
            Texts::Template { pre, pad, bad, post, .. } => fill(pre, pad, bad, post, k),
            Texts::Given { broken, .. } => blank_lines_behind(broken, k),
        }
    }

    /// [`Fixture::broken`] with characters of two and of four bytes before the error on its line, if the
    /// language is known.
    #[must_use]
    pub fn broken_behind_wide(&self, k: usize) -> Option<String> {
        match &self.texts {
            Texts::Template { pre, pad, bad, post, wide, .. } => Some(fill(pre, pad, &format!("{wide}{bad}"), post, k)),
            Texts::Given { .. } => None,
        }
    }

    /// The text without the error. Different for every `k`.
    #[must_use]
    pub fn fixed(&self, k: usize) -> String {
        match &self.texts {
            Texts::Template { pre, pad, ok, post, .. } => fill(pre, pad, ok, post, k),
            Texts::Given { fixed, .. } => blank_lines_behind(fixed, k),
        }
    }

    /// The line, from 0, of the error in [`Fixture::broken`], if it is known.
    #[must_use]
    pub fn broken_line(&self, k: usize) -> Option<usize> {
        match &self.texts {
            Texts::Template { pre, .. } => Some(pre.matches('\n').count() + k),
            Texts::Given { .. } => None,
        }
    }

    /// Fragments to build random edits from: valid, invalid, with wide characters and both line ends.
    #[must_use]
    pub fn fragments(&self) -> &[String] {
        &self.play
    }

    /// Writes the workspace below `root`: the other files, and the fixed text (`k` = 0) as the file.
    /// Returns the file's path. Nothing that is there already is changed.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn write_to(&self, root: &Path) -> io::Result<PathBuf> {
        for (name, text) in &self.files {
            write_new(&root.join(name), text)?;
        }
        let path = root.join(&self.file_name);
        write_new(&path, &self.fixed(0))?;
        Ok(path)
    }
}

fn fill(pre: &str, pad: &str, middle: &str, post: &str, k: usize) -> String {
    let k_text = k.to_string();
    format!("{pre}{}{}{}", pad.repeat(k), middle.replace("{k}", &k_text), post.replace("{k}", &k_text))
}

fn blank_lines_behind(text: &str, k: usize) -> String {
    format!("{text}{}", "\n".repeat(k))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(named)?;
    }
    if path.exists() { Ok(()) } else { std::fs::write(path, text).map_err(named) }
}

/// The LSP language id for a file's extension; the extension itself where none is known.
#[must_use]
pub fn language_of(path: &Path) -> String {
    let extension =
        path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let id = match extension.as_str() {
        "py" | "pyi" => "python",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "cpp",
        "rs" => "rust",
        "sh" | "bash" => "shellscript",
        "yml" => "yaml",
        "md" => "markdown",
        "" => "plaintext",
        other => other,
    };
    id.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_finds_its_fixture() {
        for (command, language) in [
            (&["/opt/bin/pyright-langserver", "--stdio"][..], Some("python")),
            (&["npx", "tsc", "--lsp", "--stdio"], Some("typescript")),
            (&["node", "/x/vtsls.js", "--stdio"], Some("typescript")),
            (&["clangd", "--log=error"], Some("c")),
            (&["fake-lsp", "push"], Some("fake")),
            (&["unheard-of"], None),
        ] {
            let found = Fixture::for_command(command).map(|fixture| fixture.language_id);
            assert_eq!(found.as_deref(), language, "{command:?}");
        }
    }

    #[test]
    fn the_broken_line_moves_with_k_and_stands_where_it_is_said_to() {
        for row in TABLE {
            let fixture = row.fixture();
            for k in [0, 1, 7] {
                let (broken, fixed) = (fixture.broken(k), fixture.fixed(k));
                let differing = broken.lines().zip(fixed.lines()).position(|(broken, fixed)| broken != fixed);
                assert_eq!(differing, fixture.broken_line(k), "{}", row.language_id);
                assert!(!broken.contains("{k}") && !fixed.contains("{k}"));
            }
        }
    }

    #[test]
    fn given_texts_are_new_for_every_k_and_known_by_their_extension() {
        let fixture = Fixture::of_texts("b.py", None, "x: int = ''\n", "x: int = 1\n");
        assert_eq!(fixture.language_id, "python");
        assert_eq!(fixture.broken(0), "x: int = ''\n");
        assert_eq!(fixture.fixed(2), "x: int = 1\n\n\n");
        assert!(fixture.fragments().contains(&"x: int = ''\n".to_owned()));
    }

    #[test]
    fn writing_keeps_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("compile_flags.txt"), "-Wextra\n").unwrap();
        let fixture = Fixture::for_language("c").unwrap();
        let path = fixture.write_to(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), fixture.fixed(0));
        assert_eq!(std::fs::read_to_string(folder.path().join("compile_flags.txt")).unwrap(), "-Wextra\n");
    }
}
