//! Programs that are ended if they take too long.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take. kustomize itself gives up a folder of a remote repository earlier.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program prints to.
type Pipe = Box<dyn Read + Send>;

/// What a program without input prints, or all that it says if it fails; an error if it was ended.
pub(super) fn output(command: &mut Command) -> io::Result<Result<String, String>> {
    within(command, LIMIT)
}

fn within(command: &mut Command, limit: Duration) -> io::Result<Result<String, String>> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn()?;
    let (sender, texts) = channel();
    let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Pipe);
    let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Pipe);
    for (at, pipe) in [stdout, stderr].into_iter().enumerate() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            // Nobody waits for it any longer if the program took too long.
            let _ = sender.send((at, String::from_utf8_lossy(&bytes).into_owned()));
        });
    }
    let end = Instant::now() + limit;
    let mut printed = [String::new(), String::new()];
    for _ in 0..2 {
        match texts.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((at, text)) => printed[at] = text,
            Err(_) => {
                child.kill()?;
                child.wait()?;
                let text = format!("it did not end within {} seconds", limit.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        }
    }
    let [stdout, stderr] = printed;
    Ok(if child.wait()?.success() {
        Ok(stdout)
    } else {
        Err((stdout + &stderr).trim().to_owned())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended() {
        let hangs = within(Command::new("sleep").arg("60"), Duration::from_millis(50));
        let error = hangs.expect_err("it hangs");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("did not end"), "{error}");
        let ends = output(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 1"]));
        assert_eq!(ends.expect("a start"), Err("a\nb".to_owned()));
    }
}
