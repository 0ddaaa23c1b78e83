//! Recognition of plan items about verification, by word stems in several languages, and of commands
//! that check.
//!
//! A missed one costs one superfluous reminder, and a false match suppresses one. Neither is an
//! error, so lists of words are enough.

/// A word of the item begins with one of these.
const STEMS: [&str; 4] = [
    // English; the others borrow most of it.
    "test pytest unittest doctest typecheck verif check lint build compil review validate \
     proofread inspect benchmark qa",
    // German
    "kompilier bauen verifiz kontrollier validieren begutacht probelauf",
    // French
    "vérif contrôl valider essay essai relire relis relecture construire",
    // Spanish
    "prueb probar comprob comprueb revis validar construir chequ",
];

/// Anywhere in the item: German compounds, and scripts that do not separate words.
const PARTS: [&str; 3] = [
    "prüf tests",
    // Japanese
    "テスト 検証 確認 検査 チェック レビュー ビルド コンパイル リント リンタ",
    // Chinese, simplified and traditional
    "测试 測試 验证 驗證 检查 檢查 检验 檢驗 校验 校驗 核对 核對 复核 複核 审查 審查 评审 評審 \
     构建 建置 编译 編譯",
];

/// Things to make that only sound like it.
const LOOKALIKES: [&str; 3] = [
    "checkbox checkout checklist checkpoint checksum testimon builder reviewer inspector contests \
     protests",
    "チェックボックス チェックアウト チェックリスト チェックサム 確認ダイアログ",
    "验证码 驗證碼 身份验证 身份驗證",
];

/// Programs that check or run a project, besides those with a stem above in their name or arguments.
const CHECKERS: &str = "make just tsc mypy pyright ruff flake8 eslint biome clippy vet tox nox jest \
     vitest mocha rspec phpunit ctest gradle gradlew mvn node python python3 ruby deno bun";
/// Programs that only show text, whatever its name.
const READERS: &str = "cat head tail less ls find grep rg sed awk wc echo printf cd git which stat";

/// Endings of files that no command checks.
const PROSE: &str = "md mdx markdown rst adoc txt";

/// Returns true unless the file is prose.
pub(super) fn needs_check(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    !PROSE.split(' ').any(|prose| prose.eq_ignore_ascii_case(ending))
}

/// True if a part of the command tests, builds, checks or runs something.
pub(super) fn checks(command: &str) -> bool {
    let parts = command.split(['\n', ';', '&', '|', '(', ')']);
    let is_in = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    parts.into_iter().any(|part| {
        let mut words = part
            .split_whitespace()
            .skip_while(|word| word.contains('=') || ["env", "sudo", "time", "npx"].contains(word));
        let Some(program) = words.next() else { return false };
        let program = program.rsplit('/').next().unwrap_or(program);
        !is_in(READERS, program)
            && (is_in(CHECKERS, program)
                || words.clone().any(|word| is_in(CHECKERS, word))
                || is_about_verifying(part))
    })
}

pub(super) fn is_about_verifying(content: &str) -> bool {
    let mut text = content.to_lowercase();
    for lookalike in entries(&LOOKALIKES) {
        text = text.replace(lookalike, " ");
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    entries(&PARTS).any(|part| text.contains(part))
        || words.any(|word| entries(&STEMS).any(|stem| word.starts_with(stem)))
}

fn entries(lists: &[&'static str]) -> impl Iterator<Item = &'static str> {
    lists.iter().flat_map(|list| list.split_whitespace())
}
