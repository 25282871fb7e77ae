//! The indefinite article before a name in English text. Pure.

/// Beginnings of words that are written with a vowel and spoken with a consonant: a User, a OneShot.
const CONSONANTS: [&str; 6] = ["eu", "once", "one", "uni", "use", "ut"];

/// Letters whose own names begin with a vowel, as in an HTTPRoute.
const SPELLED: &str = "AEFHILMNORSX";

/// `an` if `word`, such as a kind, is spoken with a vowel first, else `a`.
pub(crate) fn article(word: &str) -> &'static str {
    let mut letters = word.chars();
    let (first, second) = (letters.next(), letters.next());
    let is_spelled = second.is_none_or(|letter| !letter.is_ascii_lowercase());
    let lower = word.to_ascii_lowercase();
    let is_vowel = if is_spelled {
        first.is_some_and(|letter| SPELLED.contains(letter))
    } else {
        lower.starts_with(['a', 'e', 'i', 'o', 'u'])
            && !CONSONANTS.iter().any(|begin| lower.starts_with(begin))
    };
    if is_vowel { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_how_the_word_is_spoken() {
        let an = "EtcdCluster Issuer Order UpdatePlan HTTPRoute MPIJob SQLDatabase S3Bucket X";
        let a = "CronJob User UnitTest OneShot Europe URLMap TCPRoute VMPool UtilityJob";
        for word in an.split(' ') {
            assert_eq!(article(word), "an", "{word}");
        }
        for word in a.split(' ') {
            assert_eq!(article(word), "a", "{word}");
        }
    }
}
