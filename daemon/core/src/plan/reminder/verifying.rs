//! Recognition of plan items about verification, by word stems in several languages.
//!
//! A missed item costs one superfluous reminder, and a false match suppresses one. Neither is an
//! error, so a list of stems is enough.

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
