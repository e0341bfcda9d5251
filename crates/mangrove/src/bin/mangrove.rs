//! The `mangrove` command.

fn main() -> std::process::ExitCode {
    mangrove::cli::run(std::env::args_os()).into()
}
