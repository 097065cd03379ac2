// What helps against an error. The texts of Documentation/Errors.md name the remedy after the colon; these are for the others.

const remedies = [
  ["AUTHENTICATION_REQUIRED", "The request named no account. Sign in: NEPHOS_TOKEN=dev:NAME for apps, ?ckWebAuthToken=dev:NAME for Web Services."],
  ["AUTHENTICATION_FAILED", "The token is not valid. With nephos dev it is dev:NAME, in one place of the request."],
  ["CONFLICT", "Another save came first. Fetch the record again (or take the error's serverRecord), apply the change to it, and save that."],
  ["EXISTS", "The name is taken. Update the existing record, or save under another name."],
  ["ATOMIC_ERROR", "Another record of the same batch failed, so none was saved. See the errors of the other items."],
  ["ZONE_NOT_FOUND", "Save the zone before records in it; others' zones are in the shared database once a share is accepted."],
  ["VALIDATING_REFERENCE_ERROR", "Save the record that is referred to first, or in the same batch; delete the referring records before it."],
  ["QUOTA_EXCEEDED", "The database is full. Delete records or files, or raise the limit."],
  ["THROTTLED", "Too many requests. Wait for the answer's retryAfter."],
  ["TRY_AGAIN_LATER", "The server was busy or stopping. Repeat the request after its retryAfter."],
  ["NOT_FOUND", "No such record, or no such endpoint. See whether the name, the zone and the account are the ones you meant."],
  ["ACCESS_DENIED", "The account may not do this. See People: why does an account not see a record."],
  ["INTERNAL_ERROR", "A fault of the service. Its log has the details, under the same uuid."],
];

const reasons = [
  [/not marked (queryable|sortable|searchable)/, "Add the index in development, import the schema, deploy it: see Schema."],
  [/in production schema/, "Save it in development, then deploy: see Schema."],
  [/Did not find record type/, "A type exists from the first record of it that is saved in development. See Records for the types."],
  [/Atomic failure/, "See the errors of the batch's other items."],
  [/exceeds the limit|at most \d+ are allowed/, "Split the request in half."],
];

/** A sentence about what helps, or nothing. */
export function remedy(code, reason) {
  const byReason = reasons.find(([pattern]) => pattern.test(reason ?? ""));
  return byReason?.[1] ?? remedies.find(([known]) => known === code)?.[1] ?? "";
}
