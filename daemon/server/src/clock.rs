//! Wall clock, for dates and times that people see. Nothing may order or measure by it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns today's date in UTC as `YYYY-MM-DD`.
pub fn today() -> String {
    date(now_ms() / 1_000)
}

/// Returns a time in UTC as `YYYY-MM-DD hh:mm UTC`. `at` is in milliseconds since 1970.
pub fn utc(at: u64) -> String {
    let seconds = at / 1_000;
    format!("{} {:02}:{:02} UTC", date(seconds), seconds / 3_600 % 24, seconds / 60 % 60)
}

fn date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns the time in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts days since 1970-01-01 to a Gregorian date (year, month, day). Years are counted from 1
/// March, so that the leap day is the last. Algorithm: Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms".
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{civil, utc};

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_513, (2026, 3, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(civil(days), date, "{days}");
        }
    }

    #[test]
    fn times_have_minutes() {
        assert_eq!(utc(1_772_323_199_999), "2026-02-28 23:59 UTC");
    }
}
