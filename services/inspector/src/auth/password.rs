//! Passwords: argon2id, a few at a time, off the threads that serve.

use crate::error::Error;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// Hashes at once: each takes 19 MiB.
const AT_ONCE: usize = 2;
const SHORTEST: usize = 12;
const LONGEST: usize = 256;

/// Hashes and checks passwords. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hasher(Arc<Semaphore>);

impl Default for Hasher {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::default())
}

fn hash_now(password: &str) -> Option<String> {
    let salt = SaltString::generate(&mut OsRng);
    Some(argon2().hash_password(password.as_bytes(), &salt).ok()?.to_string())
}

impl Hasher {
    pub async fn hash(&self, password: &str) -> Result<String, Error> {
        let password = password.to_owned();
        self.off_thread(move || hash_now(&password)).await?.ok_or(Error::Internal)
    }

    /// Whether the password is the stored one. Without a stored one the work is done all the same, so that the time
    /// does not tell whether an account exists.
    pub async fn verify(&self, password: &str, stored: Option<&str>) -> Result<bool, Error> {
        static NOBODYS: OnceLock<String> = OnceLock::new();
        let (password, stored) = (password.to_owned(), stored.map(str::to_owned));
        self.off_thread(move || {
            let known = stored.is_some();
            let stored = stored.unwrap_or_else(|| {
                NOBODYS.get_or_init(|| hash_now("nobody has this").unwrap_or_default()).clone()
            });
            let Ok(parsed) = PasswordHash::new(&stored) else { return false };
            argon2().verify_password(password.as_bytes(), &parsed).is_ok() && known
        })
        .await
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.0.acquire().await.map_err(|_| Error::Internal)?;
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::Internal)
    }
}

/// What a password must be.
pub fn check_policy(password: &str, email: &str) -> Result<(), Error> {
    let refuse = |message: String| Err(Error::unprocessable("weak_password", message));
    if password.chars().count() < SHORTEST {
        return refuse(format!("the password must have at least {SHORTEST} characters"));
    }
    if password.len() > LONGEST {
        return refuse(format!("the password must have at most {LONGEST} bytes"));
    }
    let (lower, email) = (password.to_lowercase(), email.to_lowercase());
    let local = email.split('@').next().unwrap_or_default();
    if lower.contains(&email) || local.len() >= 3 && lower.contains(local) {
        return refuse("the password must not contain the email address or its first part".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_verifies_against_its_own_hash_only() {
        let hasher = Hasher::default();
        let stored = hasher.hash("correct horse battery").await.expect("a hash");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(hasher.verify("correct horse battery", Some(&stored)).await.expect("checked"));
        assert!(!hasher.verify("wrong horse battery", Some(&stored)).await.expect("checked"));
        assert!(!hasher.verify("nobody has this", None).await.expect("checked"));
    }

    #[test]
    fn short_and_telling_passwords_are_refused() {
        for bad in ["short", "ada-lovelace-1", "Ada@Example.com", &"x".repeat(257)] {
            assert!(check_policy(bad, "ada@example.com").is_err(), "{bad}");
        }
        assert!(check_policy("correct horse battery", "ada@example.com").is_ok());
    }
}
