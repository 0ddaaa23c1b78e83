//! Names of tools and arguments in other agents, a row for each of Cairn's.

/// Own name of an argument, and its names elsewhere. The first that is given counts.
pub(super) type Aliases = &'static [(&'static str, &'static [&'static str])];

/// Own name of a tool, and its names elsewhere without case and word separators.
pub(super) const TOOLS: Aliases = &[
    (
        "read_file",
        &[
            "readfile",
            "read",
            "view",
            "viewfile",
            "viewimage",
            "openfile",
            "ls",
            "listdir",
            "listdirectory",
            "listfiles",
        ],
    ),
    (
        "edit_file",
        &[
            "editfile",
            "edit",
            "multiedit",
            "replace",
            "strreplace",
            "searchreplace",
            "replaceinfile",
            "strreplacefile",
        ],
    ),
    ("write_file", &["writefile", "write", "createfile", "writetofile", "create"]),
    ("delete_file", &["deletefile", "delete", "removefile"]),
    ("move_file", &["movefile", "move", "renamefile"]),
    ("glob", &["globfiles", "filesearch", "findfiles", "globfilesearch"]),
    ("grep", &["grepsearch", "ripgrep", "searchfilecontent", "searchfiles", "grepfiles"]),
    ("bash", SHELLS),
    ("task", &["agent"]),
    ("process_output", &["bashoutput", "taskoutput"]),
    ("process_stop", &["killshell", "killbash", "taskstop"]),
    ("process_input", &["writestdin"]),
];

/// Tools, each with words in names of others that it does most of. The first that fits counts.
pub(super) const SIMILAR: &[(&str, &[&str])] = &[
    ("process_stop", &["kill", "stop"]),
    ("process_output", &["output"]),
    ("read_file", &["read", "view", "cat", "image", "open"]),
    ("grep", &["grep", "search"]),
    ("glob", &["find"]),
    ("read_file", &["list"]),
    ("edit_file", &["edit", "replace", "insert"]),
    ("write_file", &["write", "create"]),
    ("delete_file", &["delete", "remove"]),
    ("move_file", &["move", "rename"]),
    ("bash", &["run", "exec", "web", "fetch"]),
];

/// Shells in other agents.
pub(super) const SHELLS: &[&str] = &[
    "bash",
    "powershell",
    "shell",
    "localshell",
    "shellcommand",
    "runshellcommand",
    "executecommand",
    "execcommand",
    "runterminalcmd",
    "runterminalcommand",
    "runcommand",
    "terminal",
    "containerexec",
];

/// Arguments of a shell that name its folder.
pub(super) const FOLDERS: &[&str] =
    &["workdir", "cwd", "dir_path", "directory", "working_directory"];

/// Tools that refuse unknown arguments and name them.
pub(super) const NAMES_UNKNOWN: &[&str] = &["TaskCreate", "TaskUpdate", "TaskGet", "TaskList"];

/// Text editor tools, whose argument `command` says which tool is meant.
pub(super) const TEXT_EDITORS: &[&str] =
    &["strreplacebasededittool", "strreplaceeditor", "texteditor", "strreplaceeditbasedtool"];

/// Arguments that a tool takes although its schema does not offer them.
pub(super) const UNLISTED: &[(&str, &str)] = &[("edit_file", "insert_line")];

/// Arguments that explain a call or ask for what a tool does anyway. They have no effect here.
pub(super) const SAYS_NOTHING: &[&str] = &[
    "description",
    "explanation",
    "reason",
    "justification",
    "thought",
    "-n",
    "line_numbers",
    "expected_replacements",
    "instruction",
    "head_limit",
    "yield_time_ms",
];

const PATH: &[&str] = &[
    "file_path",
    "filePath",
    "filepath",
    "filename",
    "file",
    "target_file",
    "absolute_path",
    "absolutePath",
    "relative_workspace_path",
    "notebook_path",
    "dir_path",
    "directory",
    "folder",
];

const PROCESS: &[&str] =
    &["bash_id", "shell_id", "task_id", "session_id", "process_id", "pid", "shellId", "bashId"];

pub(super) const EDIT: Aliases = &[
    ("old_text", &["old_string", "oldString", "old_str", "oldText", "search", "old"]),
    (
        "new_text",
        &["new_string", "newString", "new_str", "newText", "insert_text", "replacement", "new"],
    ),
    ("replace_all", &["replaceAll", "allow_multiple"]),
];

const EDIT_FILE: Aliases = &[
    ("path", PATH),
    EDIT[0],
    EDIT[1],
    EDIT[2],
    ("edits", &["replacements", "edit"]),
    ("insert_line", &["insertLine"]),
];

/// Returns the arguments of a tool with their other names.
pub(super) fn arguments(tool: &str) -> Aliases {
    match tool {
        "read_file" => {
            &[("path", PATH), ("offset", &["line_offset"]), ("limit", &["line_count", "n_lines"])]
        }
        "edit_file" => EDIT_FILE,
        "write_file" => {
            &[("path", PATH), ("content", &["contents", "file_text", "text", "code_edit"])]
        }
        "delete_file" => &[("path", PATH)],
        "move_file" => &[
            ("from", &["source", "old_path", "path", "src"]),
            ("to", &["destination", "new_path", "target", "dest"]),
        ],
        "glob" => &[("pattern", &["glob", "glob_pattern", "query"]), ("path", PATH)],
        "grep" => &[
            ("pattern", &["query", "regex", "search", "search_pattern"]),
            ("path", PATH),
            (
                "glob",
                &["include", "include_pattern", "includePattern", "file_pattern", "filePattern"],
            ),
            ("ignore_case", &["-i", "case_insensitive", "ignoreCase", "caseInsensitive"]),
            ("context", &["context_lines", "contextLines"]),
            ("before", &["before_context", "beforeContext"]),
            ("after", &["after_context", "afterContext"]),
            ("output", &["output_mode", "outputMode"]),
        ],
        "bash" => &[
            ("command", &["cmd", "script", "commands"]),
            ("timeout_ms", &["timeoutMs", "timeout_milliseconds"]),
            ("background", &["is_background", "run_in_background", "isBackground"]),
        ],
        "task" => &[("prompt", &["instructions", "task"])],
        "process_output" | "process_stop" => &[("id", PROCESS)],
        "process_input" => &[("id", PROCESS), ("text", &["chars", "input"])],
        _ => &[],
    }
}
