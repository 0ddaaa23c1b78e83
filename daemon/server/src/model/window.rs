//! What is known of models by their names: how much of their window is used, and what their tokens
//! cost. The one place for both; settings come before it.
//!
//! Pure. A name that is not here gets no price, and the window of a small local model.

use cairn_core::context::{Price, Window};

/// The day on which the table was compared with what is published about these models (the price
/// list that LiteLLM 1.106.2 carries).
pub const AS_OF: &str = "2026-10-21";

/// Without a word on it from settings or server.
pub const UNKNOWN_TOKENS: u64 = 32_000;
/// Of a script that is played: no limit that it could reach.
pub const SCRIPT_TOKENS: u64 = 1_000_000;
/// Kept free for the answer when no limit is set.
const RESERVE: u64 = 16_000;

struct Family {
    /// How the name begins. The first that fits counts.
    name: &'static str,
    /// What we let a request and its answer have. Newer models take more; beyond this a request is
    /// slow, and with some of them each token costs twice or five times as much.
    tokens: u64,
    /// Dollars for a million tokens: input, cached input, output.
    dollars: Option<(f64, f64, f64)>,
}

const fn family(name: &'static str, tokens: u64, dollars: (f64, f64, f64)) -> Family {
    Family { name, tokens, dollars: Some(dollars) }
}

const FAMILIES: &[Family] = &[
    family("claude-haiku-5-5", 116_000, (0.1, 0.01, 0.5)),
    family("claude-haiku-4-5", 200_000, (1.0, 0.1, 5.0)),
    family("claude-sonnet-5-5", 200_000, (2.0, 0.1, 10.0)),
    family("claude-sonnet-5", 200_000, (2.0, 0.2, 10.0)),
    family("claude-sonnet-4", 200_000, (3.0, 0.3, 15.0)),
    family("claude-opus-5-5", 200_000, (4.0, 0.2, 20.0)),
    family("claude-opus-5", 200_000, (5.0, 0.5, 25.0)),
    family("claude-opus-4-", 200_000, (5.0, 0.5, 25.0)),
    Family { name: "claude-", tokens: 200_000, dollars: None },
    family("gpt-5.6-luna", 272_000, (0.2, 0.02, 1.2)),
    family("gpt-5.6-terra", 272_000, (2.0, 0.2, 12.0)),
    Family { name: "gpt-5.6-cyber", tokens: 272_000, dollars: None },
    family("gpt-5.6", 272_000, (4.0, 0.4, 20.0)),
    Family { name: "gpt-5.5-pro", tokens: 272_000, dollars: None },
    Family { name: "gpt-5.5-cyber", tokens: 272_000, dollars: None },
    family("gpt-5.5", 272_000, (5.0, 0.5, 30.0)),
    Family { name: "gpt-5.4-pro", tokens: 272_000, dollars: None },
    family("gpt-5.4-mini", 272_000, (0.75, 0.075, 4.5)),
    family("gpt-5.4-nano", 272_000, (0.2, 0.02, 1.25)),
    family("gpt-5.4", 272_000, (2.5, 0.25, 15.0)),
    family("gpt-5.1-codex-mini", 272_000, (0.25, 0.025, 2.0)),
    family("gpt-5-mini", 272_000, (0.25, 0.025, 2.0)),
    family("gpt-5-nano", 272_000, (0.05, 0.005, 0.4)),
    Family { name: "gpt-5", tokens: 272_000, dollars: None },
    family("gpt-4.1-mini", 272_000, (0.4, 0.1, 1.6)),
    family("gpt-4.1-nano", 272_000, (0.1, 0.025, 0.4)),
    family("gpt-4.1", 272_000, (2.0, 0.5, 8.0)),
    family("gpt-4o-mini", 128_000, (0.15, 0.075, 0.6)),
    family("gpt-4o", 128_000, (2.5, 1.25, 10.0)),
];

/// What the settings say about the model's size and price.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextSettings {
    pub tokens: Option<u64>,
    pub price: Option<Price>,
}

/// What a turn with this model may use. `learned`: the server said so.
pub fn window(
    model: &str,
    settings: &ContextSettings,
    max_tokens: Option<u32>,
    learned: Option<u64>,
) -> Window {
    let assumed = settings.tokens.or(find(model).map(|family| family.tokens));
    let tokens = assumed.unwrap_or(UNKNOWN_TOKENS);
    // Whatever was assumed, the server knows best.
    let tokens = learned.map_or(tokens, |learned| learned.min(tokens));
    let reserve = max_tokens.map_or(RESERVE.min(tokens / 8), u64::from);
    Window { tokens, reserve, head: 0 }
}

/// `own_server`: some other server than the vendor's answers, whose prices are its own.
pub fn price(model: &str, settings: &ContextSettings, own_server: bool) -> Option<Price> {
    let known = || {
        let (input, cached, output) = find(model).filter(|_| !own_server)?.dollars?;
        Price::per_million(input, cached, output)
    };
    settings.price.or_else(known)
}

fn find(model: &str) -> Option<&'static Family> {
    let model = model.to_ascii_lowercase();
    FAMILIES.iter().find(|family| model.starts_with(family.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_come_from_the_server_then_settings_then_the_table() {
        let own = ContextSettings { tokens: Some(50_000), price: None };
        let none = ContextSettings::default();
        let tokens = |model, settings, learned| window(model, settings, None, learned).tokens;
        assert_eq!(tokens("claude-sonnet-5-5", &none, None), 200_000);
        assert_eq!(tokens("claude-sonnet-5-5", &own, None), 50_000);
        assert_eq!(tokens("claude-sonnet-5-5", &own, Some(8_192)), 8_192);
        assert_eq!(tokens("claude-sonnet-5-5", &own, Some(80_192)), 50_000);
        assert_eq!(tokens("local", &none, None), UNKNOWN_TOKENS);
        assert_eq!(window("local", &none, None, None).reserve, 4_000);
        assert_eq!(window("gpt-5.5", &none, Some(9), None).reserve, 9);
    }

    #[test]
    fn prices_are_known_for_the_vendors_own_servers_only() {
        let none = ContextSettings::default();
        let sonnet = Price { input: 2_000, cached: 100, output: 10_000 };
        assert_eq!(price("claude-sonnet-5-5-20260901", &none, false), Some(sonnet));
        assert_eq!(price("claude-sonnet-5-5", &none, true), None);
        assert_eq!(price("local", &none, false), None);
        assert_eq!(price("gpt-5.5-pro", &none, false), None);
        let own = ContextSettings { tokens: None, price: Some(sonnet) };
        assert_eq!(price("local", &own, true), Some(sonnet));
    }

    #[test]
    fn no_entry_hides_another() {
        for (at, family) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES[..at].iter().find(|other| family.name.starts_with(other.name));
            assert!(hidden.is_none(), "{} is never reached", family.name);
        }
    }
}
