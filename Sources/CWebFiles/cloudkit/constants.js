// The constants of CloudKit JS.

const VERSION = "2.0.0";
const BUILD_VERSION = "Nephos";
const WS_API_VERSION = 1;
const CLOUDKIT_LOADED = "cloudkitloaded";
const DEVELOPMENT_ENVIRONMENT = "development";
const PRODUCTION_ENVIRONMENT = "production";

/** @param {string[]} names @returns {Readonly<Record<string, string>>} an enumeration whose values are its names */
const enumeration = (...names) => Object.freeze(Object.fromEntries(names.map((name) => [name, name])));

const DatabaseScope = enumeration("PUBLIC", "PRIVATE", "SHARED");

const QueryFilterComparator = enumeration(
  "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS", "NEAR",
  "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "IN", "NOT_IN", "BEGINS_WITH", "NOT_BEGINS_WITH", "LIST_CONTAINS",
  "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL",
  "LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH");

const ReferenceAction = enumeration("NONE", "DELETE_SELF", "VALIDATE");

const SubscriptionType = Object.freeze({ QUERY: "query", RECORD_ZONE: "zone", DATABASE: "database" });

const ShareParticipantAcceptanceStatus = enumeration("UNKNOWN", "PENDING", "ACCEPTED");
const ShareParticipantPermission = enumeration("UNKNOWN", "NONE", "READ_ONLY", "READ_WRITE");
const ShareParticipantType = enumeration("UNKNOWN", "OWNER", "PRIVATE_USER", "PUBLIC_USER");

/** The type of a share's record, and the names of its system fields. */
class ShareRecordType {
  static NAME = "cloudkit.share";
  static TITLE_FIELD_NAME = "cloudkit.title";
  static TYPE_FIELD_NAME = "cloudkit.type";
  static THUMBNAIL_IMAGE_DATA_FIELD_NAME = "cloudkit.thumbnailImageData";
}

const AppleIDButtonTheme = Object.freeze({
  BLACK: "black", WHITE: "white", WHITE_WITH_OUTLINE: "white-with-outline",
});
