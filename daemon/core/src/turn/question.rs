//! Recognition of final words that ask the user something.
//!
//! A question mark counts in every script, also inside a closing quote. Chinese, Japanese and
//! Korean ask without one: there the particle at the end of the last clause decides, or the form
//! with which the clause begins. Anything else is a statement.

/// Marks of questions; the Greek one looks like a semicolon and is told apart by the letter before.
const MARKS: [char; 5] = ['?', '？', '؟', '⁇', '︖'];
const GREEK_MARKS: [char; 2] = [';', '\u{37e}'];
/// Ends of sentences that do not ask.
const ENDERS: [char; 8] = ['.', '。', '．', '｡', '!', '！', '…', '~'];
/// Marks between clauses of CJK text.
const BETWEEN: [char; 17] =
    ['，', '。', '．', '｡', '！', '？', '；', '：', '、', '…', '\n', ',', '.', '!', '?', ':', ';'];
/// Particles and polite endings that make a question.
const ENDINGS: [&str; 21] = [
    // Chinese.
    "吗",
    "嗎",
    "呢",
    "好不好",
    "行不行",
    "对不对",
    "對不對",
    "可不可以",
    "怎么样",
    "怎麼樣",
    // Japanese. The bare particle also ends nouns.
    "ますか",
    "ですか",
    "しょうか",
    "ませんか",
    "ましたか",
    "でしたか",
    // Korean.
    "까요",
    "나요",
    "습니까",
    "입니까",
    "인가요",
];
/// Forms that make a clause a question when it begins with them, after the addressed person.
const OPENINGS: [&str; 11] = [
    "是否",
    "要不要",
    "能不能",
    "可不可以",
    "需不需要",
    "是不是",
    "该不该",
    "請問",
    "请问",
    "哪个",
    "哪一个",
];
const ASKED: [&str; 6] = ["那", "还", "你", "您", "我", "我们"];

/// True when the text ends with a question to the reader.
pub(super) fn asks_something(text: &str) -> bool {
    let text = text.trim_end_matches(is_closer);
    if text.ends_with(MARKS) {
        return true;
    }
    let greek = |c: char| matches!(c, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}');
    if text.ends_with(GREEK_MARKS) {
        return text.trim_end_matches(GREEK_MARKS).ends_with(greek);
    }
    let clause = text.trim_end_matches(|c| ENDERS.contains(&c) || is_closer(c));
    let clause = clause.rsplit(BETWEEN).next().unwrap_or_default();
    if ENDINGS.iter().any(|ending| clause.ends_with(ending)) {
        return true;
    }
    let mut clause = clause.trim_start_matches(|c| c == ' ' || is_closer(c));
    for asked in ASKED {
        clause = clause.strip_prefix(asked).unwrap_or(clause);
    }
    OPENINGS.iter().any(|opening| clause.starts_with(opening))
}

/// Space, markup, quotes, brackets and pictures, which may stand after the end of a sentence.
fn is_closer(c: char) -> bool {
    const CLOSERS: &str = "*_`)]\"'”’»›」』）】》〉〕］｣“‘「『（《【";
    let is_picture = matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}');
    c.is_whitespace() || CLOSERS.contains(c) || is_picture || matches!(c, '～' | '〜')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognised_in_many_scripts() {
        for question in [
            "Shall I go on?",
            "Shall I **also** do z?**\n",
            "(Or shall I stop?)",
            "Is it \"a\" or \"b?\"",
            "要继续吗",
            "要继续吗？",
            "要继续吗。",
            "「要继续吗？」",
            "『要继续吗』",
            "《测试》要不要跑？）",
            "（需要我提交吗？）",
            "改好了。你觉得呢",
            "改好了，要不要运行测试",
            "请问要删除哪个文件",
            "是否继续",
            "是否需要我也更新文档。",
            "要我继续吗😀",
            "要我繼續嗎",
            "我可以改吗～",
            "続けますか",
            "続けますか。",
            "「続けてもよろしいですか？」",
            "テストも直しましょうか。",
            "계속할까요",
            "계속할까요?",
            "هل أكمل؟",
            "Θέλετε να συνεχίσω;",
        ] {
            assert!(asks_something(question), "{question}");
        }
        for statement in [
            "",
            "Done.",
            "I answered \"why?\" in the docs.",
            "Is it done? Yes, it is.",
            "改好了。",
            "测试都通过了",
            "我把问号“？”换成了句号。",
            "要继续吗？我已经继续了。",
            "文件名是 吗.txt",
            "函数检查是否为空。",
            "我检查了是否需要更新文档，不需要。",
            "把语气词“吗”删掉了",
            "完了しました。",
            "静か",
            "値段が高いか安いかを確認しました。",
            "완료했습니다.",
            "let x = 1;",
            "Je l'ai fait;",
        ] {
            assert!(!asks_something(statement), "{statement}");
        }
    }
}
