// The glossary's words (easd_viz/verify.py) for what the page says.

export const OUTCOME_WORDS = {
  accepted: "accepted",
  rejected: "rejected by SD",
  gated: "gated by EASD",
  discarded: "discarded, not verified",
};

export const SOURCE_WORDS = {
  residual: "drawn from the residual",
  target: "resampled from the target",
  target_excluding_draft: "resampled from the target, the draft's token left out",
  bonus: "bonus token from the target",
};

export const STOP_WORDS = {
  eos: "the text ended",
  length: "reached the limit of new tokens",
  stopped: "stopped",
  error: "ended by an error",
};
