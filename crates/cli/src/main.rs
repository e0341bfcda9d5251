//! The `mangrove` command.

fn main() -> std::process::ExitCode {
    mangrove_cli::run(std::env::args_os()).into()
}
