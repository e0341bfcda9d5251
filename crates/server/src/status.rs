//! The status of a response, as drivers know them.

use mangrove::{QueryError, QueryErrorKind};

/// A status of the Gremlin protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Success,
    NoContent,
    /// More results follow.
    PartialContent,
    Unauthorized,
    Forbidden,
    /// Credentials are wanted.
    Authenticate,
    TooManyRequests,
    MalformedRequest,
    InvalidArguments,
    ServerError,
    /// `fail()` in the query.
    FailStep,
    /// Try again.
    Temporary,
    /// The query is wrong, or could not run to its end.
    Evaluation,
    Timeout,
}

impl Status {
    pub fn code(self) -> u16 {
        match self {
            Self::Success => 200,
            Self::NoContent => 204,
            Self::PartialContent => 206,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::Authenticate => 407,
            Self::TooManyRequests => 429,
            Self::MalformedRequest => 498,
            Self::InvalidArguments => 499,
            Self::ServerError => 500,
            Self::FailStep => 595,
            Self::Temporary => 596,
            Self::Evaluation => 597,
            Self::Timeout => 598,
        }
    }

    /// The status that an error of a query gives.
    pub fn of(error: &QueryError) -> Self {
        match error {
            QueryError::Query(failure) => match failure.kind {
                QueryErrorKind::Fail => Self::FailStep,
                QueryErrorKind::Timeout => Self::Timeout,
                _ => Self::Evaluation,
            },
            QueryError::Bug(_) => Self::ServerError,
            QueryError::Graph(_) | QueryError::Aborted => Self::Evaluation,
        }
    }

    /// What TinkerPop 4 names the exception of a failure.
    pub fn exception(self) -> &'static str {
        match self {
            Self::Success | Self::NoContent | Self::PartialContent => "",
            Self::Unauthorized | Self::Forbidden | Self::Authenticate => "AuthorizationException",
            Self::TooManyRequests => "TooManyRequestsException",
            Self::MalformedRequest | Self::InvalidArguments => "InvalidRequestException",
            Self::Timeout => "ServerTimeoutExceededException",
            Self::FailStep => "ServerFailStepException",
            Self::Temporary | Self::Evaluation => "ServerEvaluationException",
            Self::ServerError => "ServerErrorException",
        }
    }

    /// The HTTP status that says the same.
    pub fn http(self) -> u16 {
        match self {
            Self::Success | Self::NoContent | Self::PartialContent => 200,
            Self::Unauthorized | Self::Authenticate => 401,
            Self::Forbidden => 403,
            Self::TooManyRequests => 429,
            Self::MalformedRequest | Self::InvalidArguments => 400,
            Self::ServerError | Self::FailStep | Self::Evaluation | Self::Timeout => 500,
            Self::Temporary => 503,
        }
    }
}
