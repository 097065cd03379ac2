// Types of CloudKit JS as a Nephos server serves it: of the module `cloudkit.mjs`, and of the global of `cloudkit.js`.

export as namespace CloudKit;
declare const CloudKit: typeof import("./cloudkit");
export default CloudKit;

declare global {
  interface Window { CloudKit: typeof CloudKit; }
}

// Namespace

export const VERSION: string;
export const BUILD_VERSION: string;
export const WS_API_VERSION: number;
/** The event of the window once the script has run. */
export const CLOUDKIT_LOADED: "cloudkitloaded";
export const DEVELOPMENT_ENVIRONMENT: "development";
export const PRODUCTION_ENVIRONMENT: "production";
export const Promise: PromiseConstructor;
/** Whether to log to the console where `services.logger` is not given. Set it before `configure`. */
export let logToConsole: boolean;

/** Makes the containers. Throws a `CKError` with `CONFIGURATION_ERROR`. */
export function configure(configuration: CloudKitConfig): typeof CloudKit;
/** The first container of the configuration. */
export function getDefaultContainer(): Container;
export function getContainer(containerIdentifier: string): Container | undefined;
export function getAllContainers(): Container[];

export type Environment = "development" | "production";

export interface CloudKitConfig {
  containers: ContainerConfig[];
  services?: CloudKitServices;
  /** The language of the buttons, such as `en-us`. */
  locale?: string;
  /** The address of the server; by default the origin that the script was loaded from. */
  serverURL?: string;
}

export interface ContainerConfig {
  containerIdentifier: string;
  environment: Environment;
  apnsEnvironment?: Environment;
  apiTokenAuth?: {
    apiToken: string;
    /** Whether the session survives the end of the browser. */
    persist?: boolean;
    signInButton?: AuthButton | null;
    signOutButton?: AuthButton | null;
  };
  serverToServerKeyAuth?: {
    keyID: string;
    /** A path, the text of a PEM file, or a KeyObject of Node. */
    privateKeyFile: string | object;
    privateKeyPassPhrase?: string;
  };
  serverURL?: string;
  publicDatabasePartition?: string;
  privateDatabasePartition?: string;
  sharedDatabasePartition?: string;
  /** False for no sign-in buttons. */
  auth?: false | { persist?: boolean };
  /** @deprecated the key of 1.x; write `apiTokenAuth`. */
  apiToken?: string;
}

export interface AuthButton { id?: string; theme?: string; }

export interface CloudKitServices {
  fetch?: (url: any, init?: any, originalFetch?: any) => PromiseLike<any>;
  Promise?: PromiseConstructor;
  logger?: Pick<Console, "info" | "log" | "warn" | "error">;
  authTokenStore?: {
    putToken(containerId: string, token: string | null): any;
    getToken(containerId: string): string | null | undefined | PromiseLike<string | null | undefined>;
  };
}

// Enumerations

export const DatabaseScope: { readonly PUBLIC: "PUBLIC"; readonly PRIVATE: "PRIVATE"; readonly SHARED: "SHARED" };
export type DatabaseScope = "PUBLIC" | "PRIVATE" | "SHARED";

export type QueryFilterComparator =
  | "EQUALS" | "NOT_EQUALS" | "LESS_THAN" | "LESS_THAN_OR_EQUALS" | "GREATER_THAN" | "GREATER_THAN_OR_EQUALS" | "NEAR"
  | "CONTAINS_ALL_TOKENS" | "CONTAINS_ANY_TOKENS" | "IN" | "NOT_IN" | "BEGINS_WITH" | "NOT_BEGINS_WITH" | "LIST_CONTAINS"
  | "NOT_LIST_CONTAINS" | "LIST_CONTAINS_ANY" | "NOT_LIST_CONTAINS_ANY" | "LIST_CONTAINS_ALL" | "NOT_LIST_CONTAINS_ALL"
  | "LIST_MEMBER_BEGINS_WITH" | "NOT_LIST_MEMBER_BEGINS_WITH";
export const QueryFilterComparator: { readonly [Name in QueryFilterComparator]: Name };

export type ReferenceAction = "NONE" | "DELETE_SELF" | "VALIDATE";
export const ReferenceAction: { readonly [Name in ReferenceAction]: Name };

export const SubscriptionType: { readonly QUERY: "query"; readonly RECORD_ZONE: "zone"; readonly DATABASE: "database" };
export type SubscriptionType = "query" | "zone" | "database";

export type ShareParticipantAcceptanceStatus = "UNKNOWN" | "PENDING" | "ACCEPTED";
export const ShareParticipantAcceptanceStatus: { readonly [Name in ShareParticipantAcceptanceStatus]: Name };
export type ShareParticipantPermission = "UNKNOWN" | "NONE" | "READ_ONLY" | "READ_WRITE";
export const ShareParticipantPermission: { readonly [Name in ShareParticipantPermission]: Name };
export type ShareParticipantType = "UNKNOWN" | "OWNER" | "PRIVATE_USER" | "PUBLIC_USER";
export const ShareParticipantType: { readonly [Name in ShareParticipantType]: Name };
export class ShareRecordType {
  static readonly NAME: "cloudkit.share";
  static readonly TITLE_FIELD_NAME: string;
  static readonly TYPE_FIELD_NAME: string;
  static readonly THUMBNAIL_IMAGE_DATA_FIELD_NAME: string;
}
export const AppleIDButtonTheme: {
  readonly BLACK: "black"; readonly WHITE: "white"; readonly WHITE_WITH_OUTLINE: "white-with-outline";
};

// Dictionaries

export interface ZoneID { zoneName: string; ownerRecordName?: string; zoneType?: string; }
export type ZoneIDForm = string | ZoneID | { zoneID: ZoneID };
export type OneOrMany<Item> = Item | Item[];

export interface Reference { recordName: string; action?: ReferenceAction; zoneID?: ZoneID; }
export interface Location {
  latitude: number; longitude: number; altitude?: number; horizontalAccuracy?: number; verticalAccuracy?: number;
  course?: number; speed?: number; timestamp?: number;
}
export interface Asset {
  fileChecksum?: string; size?: number; receipt?: string; wrappingKey?: string; referenceChecksum?: string;
  /** Has `${f}` for the name of the file. */
  downloadURL?: string;
}
/** Dates are milliseconds since 1970; a Date, a boolean and a file are converted when they are saved. */
export interface RecordField { value?: any; type?: string; isEncrypted?: boolean; }
export interface RecordFields { [fieldName: string]: RecordField | null | undefined; }
export interface Timestamp { timestamp: number; userRecordName: string; deviceID?: string; }
export interface Participant {
  userIdentity: UserIdentity | { lookupInfo: UserLookupInfo }; permission?: ShareParticipantPermission;
  acceptanceStatus?: string; type?: string; participantId?: string;
}
export interface RecordToSave {
  recordName?: string; recordType?: string; recordChangeTag?: string; fields?: RecordFields;
  parent?: { recordName: string; zoneID?: ZoneID } | null; createShortGUID?: boolean;
  forRecord?: { recordName: string; recordChangeTag?: string }; publicPermission?: ShareParticipantPermission;
  participants?: Participant[]; [key: string]: any;
}
export interface RecordReceived extends RecordToSave {
  recordName: string; fields: { [fieldName: string]: RecordField }; created: Timestamp; modified: Timestamp; deleted: boolean;
  share?: { recordName: string; zoneID?: ZoneID }; shortGUID?: string; zoneID?: ZoneID; currentUserParticipant?: Participant;
}
export interface RecordZone { zoneID: ZoneID; syncToken?: string; atomic?: boolean; deleted?: boolean; }
export interface Filter {
  comparator?: QueryFilterComparator; fieldName?: string; systemFieldName?: string; fieldValue: RecordField | Location;
  distance?: number;
}
export interface SortDescriptor {
  fieldName?: string; systemFieldName?: string; ascending?: boolean; relativeLocation?: RecordField | Location;
}
export interface Query { recordType: string; filterBy?: OneOrMany<Filter>; sortBy?: OneOrMany<SortDescriptor>; }
export interface NotificationInfo {
  alertBody?: string; alertLocalizationKey?: string; alertLocalizationArgs?: string[]; alertActionLocalizationKey?: string;
  alertLaunchImage?: string; soundName?: string; shouldBadge?: boolean; shouldSendContentAvailable?: boolean;
  additionalFields?: string[]; category?: string;
}
export interface Subscription {
  subscriptionType: SubscriptionType; subscriptionID?: string; zoneID?: ZoneIDForm; zoneWide?: boolean; query?: Query;
  firesOn?: ("create" | "update" | "delete")[]; firesOnce?: boolean; notificationInfo?: NotificationInfo;
}
export interface UserLookupInfo { emailAddress?: string; phoneNumber?: string; userRecordName?: string; }
export interface NameComponents {
  givenName?: string; familyName?: string; middleName?: string; namePrefix?: string; nameSuffix?: string; nickName?: string;
  phoneticRepresentation?: any;
}
export interface UserIdentity { userRecordName?: string; nameComponents?: NameComponents; lookupInfo?: UserLookupInfo; }
export interface RecordInfo {
  shortGUID: string | { value: string }; containerIdentifier: string; environment?: string; databaseScope?: DatabaseScope;
  zoneID: ZoneID; share?: RecordReceived; rootRecordName: string; rootRecord?: RecordReceived;
  ancestorRecords?: RecordReceived[]; ownerIdentity?: UserIdentity;
  participantType?: string; participantStatus?: string; participantPermission?: string;
}

// Containers

export class Container {
  private constructor();
  readonly containerIdentifier: string;
  readonly environment: Environment;
  readonly apnsEnvironment: Environment;
  readonly publicCloudDatabase: Database;
  readonly privateCloudDatabase: Database;
  readonly sharedCloudDatabase: Database;
  readonly isRegisteredForNotifications: boolean;
  /** The address of the sign-in; null while signed in, and once it is too old. */
  readonly signInURL: string | null;
  getDatabaseWithDatabaseScope(scope: DatabaseScope): Database;
  getConfig(): ContainerConfig;
  /** Resolves to the identity of the session, or null, and shows the button where the page has its element. */
  setUpAuth(options?: any): Promise<UserIdentity | null>;
  whenUserSignsIn(): Promise<UserIdentity>;
  whenUserSignsOut(): Promise<void>;
  /** Signs in by a window, which browsers open in a click alone, or with `redirect` by leaving the page. */
  signIn(options?: { redirect?: boolean }): Promise<UserIdentity>;
  signOut(): Promise<void>;
  fetchCurrentUserIdentity(): Promise<UserIdentity>;
  discoverAllUserIdentities(): Promise<UserIdentitiesResponse>;
  discoverUserIdentities(infos: OneOrMany<UserLookupInfo>): Promise<UserIdentitiesResponse>;
  discoverUserIdentityWithEmailAddress(emailAddress: string): Promise<UserIdentitiesResponse>;
  discoverUserIdentityWithPhoneNumber(phoneNumber: string): Promise<UserIdentitiesResponse>;
  discoverUserIdentityWithUserRecordName(userRecordName: string): Promise<UserIdentitiesResponse>;
  acceptShares(shortGUIDs: OneOrMany<string | { value: string }>): Promise<RecordInfosResponse>;
  fetchRecordInfos(
    shortGUIDs: OneOrMany<string | { value: string; shouldFetchRootRecord?: boolean; rootRecordDesiredKeys?: string[] }>
  ): Promise<RecordInfosResponse>;
  registerForNotifications(): Promise<Container>;
  unregisterForNotifications(): Promise<void>;
  addNotificationListener(listener: (notification: QueryNotification | RecordZoneNotification | Notification) => void): void;
  removeNotificationListener(listener: (notification: any) => void): void;
  toString(): string;
}

// Databases

export interface RecordOptions { zoneID?: ZoneIDForm | null; desiredKeys?: string[] | null; numbersAsStrings?: boolean; }
export interface QueryOptions extends RecordOptions { zoneWide?: boolean; resultsLimit?: number; continuationMarker?: string | null; }
export interface BatchOptions extends RecordOptions { atomic?: boolean; }
export interface RecordZoneChangesOptions {
  zoneID: ZoneIDForm; syncToken?: string | null; desiredKeys?: string[]; desiredRecordTypes?: string[]; resultsLimit?: number;
  numbersAsStrings?: boolean;
}
export interface SharingOptions {
  record: RecordName; zoneID: ZoneIDForm; shareTitle?: string; shareType?: string; shareThumbnail?: string | ArrayBuffer | ArrayBufferView;
  supportedAccess?: ("PUBLIC" | "PRIVATE")[]; supportedPermissions?: ("READ_WRITE" | "READ_ONLY")[];
}
export type RecordName = string | { recordName: string; [key: string]: any };

export class Database {
  private constructor();
  readonly containerIdentifier: string;
  readonly databaseScope: DatabaseScope;
  saveRecords(records: OneOrMany<RecordToSave>, options?: RecordOptions): Promise<RecordsResponse>;
  fetchRecords(records: OneOrMany<RecordName>, options?: RecordOptions): Promise<RecordsResponse>;
  deleteRecords(records: OneOrMany<RecordName>, options?: { zoneID?: ZoneIDForm | null }): Promise<RecordsResponse>;
  performQuery(query: Query | QueryResponse, options?: QueryOptions): Promise<QueryResponse>;
  newRecordsBatch(options?: BatchOptions): RecordsBatchBuilder;
  saveRecordZones(zones: OneOrMany<ZoneIDForm>): Promise<RecordZonesResponse>;
  fetchRecordZones(zones: OneOrMany<ZoneIDForm>): Promise<RecordZonesResponse>;
  deleteRecordZones(zones: OneOrMany<ZoneIDForm>): Promise<RecordZonesResponse>;
  fetchAllRecordZones(): Promise<RecordZonesResponse>;
  fetchDatabaseChanges(options?: { syncToken?: string | null; resultsLimit?: number }): Promise<DatabaseChangesResponse>;
  fetchRecordZoneChanges(options: OneOrMany<RecordZoneChangesOptions>): Promise<RecordZoneChangesResponse>;
  saveSubscriptions(subscriptions: OneOrMany<Subscription>): Promise<SubscriptionsResponse>;
  fetchSubscriptions(subscriptions: OneOrMany<string | { subscriptionID: string }>): Promise<SubscriptionsResponse>;
  deleteSubscriptions(subscriptions: OneOrMany<string | { subscriptionID: string }>): Promise<SubscriptionsResponse>;
  fetchAllSubscriptions(): Promise<SubscriptionsResponse>;
  /** Shows a dialog by which the person shares a record of a custom zone. `share` is absent if it is not shared then. */
  shareWithUI(options: SharingOptions): Promise<{ share?: RecordReceived; record: RecordReceived; hasErrors: false; errors: [] }>;
  toString(): string;
}

export class RecordsBatchBuilder {
  private constructor();
  create(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  createOrUpdate(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  update(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  forceUpdate(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  replace(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  forceReplace(records: OneOrMany<RecordToSave>, options?: { desiredKeys?: string[] }): this;
  delete(records: OneOrMany<RecordName>): this;
  forceDelete(records: OneOrMany<RecordName>): this;
  commit(): Promise<RecordsResponse>;
}

// Responses

export class Response {
  readonly isResponse: true;
  readonly hasErrors: boolean;
  /** One for each item that failed. */
  readonly errors: CKError[];
  toString(): string;
}
export class RecordsResponse extends Response {
  readonly isRecordsResponse: true;
  readonly records: RecordReceived[];
  readonly numbersAsStrings: boolean;
}
export class QueryResponse extends RecordsResponse {
  readonly isQueryResponse: true;
  readonly query: Query;
  readonly zoneID: ZoneID;
  readonly zoneWide: boolean;
  readonly desiredKeys: string[] | null;
  readonly resultsLimit: number | undefined;
  readonly continuationMarker: string | null;
  readonly moreComing: boolean;
}
export class RecordZonesResponse extends Response {
  readonly isRecordZonesResponse: true;
  readonly zones: RecordZone[];
}
export class DatabaseChangesResponse extends Response {
  readonly isDatabaseChangesResponse: true;
  readonly zones: RecordZone[];
  readonly syncToken: string;
  readonly moreComing: boolean;
  readonly resultsLimit: number | undefined;
}
export interface RecordZoneChanges {
  zoneID: ZoneID; records: RecordReceived[]; syncToken: string | undefined; moreComing: boolean; errors: CKError[];
  desiredKeys?: string[]; desiredRecordTypes?: string[]; resultsLimit?: number;
}
export class RecordZoneChangesResponse extends Response {
  readonly isRecordZoneChangesResponse: true;
  readonly zones: RecordZoneChanges[];
}
export class SubscriptionsResponse extends Response {
  readonly isSubscriptionsResponse: true;
  readonly subscriptions: Subscription[];
}
export class UserIdentitiesResponse extends Response {
  readonly isUserIdentitiesResponse: true;
  readonly users: UserIdentity[];
}
export class RecordInfosResponse extends Response {
  readonly isRecordInfosResponse: true;
  readonly results: RecordInfo[];
}

// Notifications

export class Notification {
  static readonly NOTIFICATION_TYPE_QUERY: "NOTIFICATION_TYPE_QUERY";
  static readonly NOTIFICATION_TYPE_RECORD_ZONE: "NOTIFICATION_TYPE_RECORD_ZONE";
  static readonly QUERY_NOTIFICATION_REASON_RECORD_CREATED: string;
  static readonly QUERY_NOTIFICATION_REASON_RECORD_UPDATED: string;
  static readonly QUERY_NOTIFICATION_REASON_RECORD_DELETED: string;
  readonly notificationID: string;
  readonly notificationType: string | undefined;
  readonly containerIdentifier: string;
  readonly subscriptionID: string;
  readonly zoneID: ZoneID | undefined;
  readonly isQueryNotification: boolean;
  readonly isRecordZoneNotification: boolean;
  readonly alertBody: string | undefined;
  readonly alertLocalizationKey: string | undefined;
  readonly alertLocalizationArgs: string[] | undefined;
  readonly alertActionLocalizationKey: string | undefined;
  readonly alertLaunchImage: string | undefined;
  readonly soundName: string | undefined;
  readonly badge: number | undefined;
  readonly category: string | undefined;
}
export class QueryNotification extends Notification {
  readonly queryNotificationReason: string;
  readonly recordName: string;
  readonly recordFields: { [fieldName: string]: any };
  readonly isPublicDatabase: boolean;
}
export class RecordZoneNotification extends Notification {}

// Errors

export type CKErrorCode =
  | "ACCESS_DENIED" | "ATOMIC_ERROR" | "AUTHENTICATION_FAILED" | "AUTHENTICATION_REQUIRED" | "AUTH_PERSIST_ERROR"
  | "BAD_REQUEST" | "CONFIGURATION_ERROR" | "CONFLICT" | "EXISTS" | "INTERNAL_ERROR" | "INVALID_ARGUMENTS"
  | "NETWORK_ERROR" | "NOT_FOUND" | "QUOTA_EXCEEDED" | "SERVICE_UNAVAILABLE" | "SHARE_UI_TIMEOUT" | "SIGN_IN_FAILED"
  | "THROTTLED" | "TRY_AGAIN_LATER" | "UNEXPECTED_SERVER_RESPONSE" | "UNIQUE_FIELD_ERROR" | "UNKNOWN_ERROR"
  | "VALIDATING_REFERENCE_ERROR" | "ZONE_NOT_FOUND";

export class CKError extends Error {
  private constructor();
  readonly ckErrorCode: CKErrorCode;
  readonly serverErrorCode: string | undefined;
  readonly isServerError: boolean;
  readonly extensionErrorCode: string | undefined;
  readonly isServerExtensionError: boolean;
  readonly reason: string;
  readonly uuid: string | undefined;
  /** Seconds after which the request may be sent again. */
  readonly retryAfter: number | undefined;
  readonly redirectURL: string | undefined;
  readonly recordName: string | undefined;
  readonly zoneID: ZoneID | undefined;
  readonly subscriptionID: string | undefined;
  readonly shortGUID: string | undefined;
  readonly isError: true;
  readonly isCKError: true;
  toJSON(): object;
  toString(): string;
  static readonly ACCESS_DENIED: "ACCESS_DENIED";
  static readonly ATOMIC_ERROR: "ATOMIC_ERROR";
  static readonly AUTHENTICATION_FAILED: "AUTHENTICATION_FAILED";
  static readonly AUTHENTICATION_REQUIRED: "AUTHENTICATION_REQUIRED";
  static readonly AUTH_PERSIST_ERROR: "AUTH_PERSIST_ERROR";
  static readonly BAD_REQUEST: "BAD_REQUEST";
  static readonly CONFIGURATION_ERROR: "CONFIGURATION_ERROR";
  static readonly CONFLICT: "CONFLICT";
  static readonly EXISTS: "EXISTS";
  static readonly INTERNAL_ERROR: "INTERNAL_ERROR";
  static readonly INVALID_ARGUMENTS: "INVALID_ARGUMENTS";
  static readonly NETWORK_ERROR: "NETWORK_ERROR";
  static readonly NOT_FOUND: "NOT_FOUND";
  static readonly QUOTA_EXCEEDED: "QUOTA_EXCEEDED";
  static readonly SERVICE_UNAVAILABLE: "SERVICE_UNAVAILABLE";
  static readonly SHARE_UI_TIMEOUT: "SHARE_UI_TIMEOUT";
  static readonly SIGN_IN_FAILED: "SIGN_IN_FAILED";
  static readonly THROTTLED: "THROTTLED";
  static readonly TRY_AGAIN_LATER: "TRY_AGAIN_LATER";
  static readonly UNEXPECTED_SERVER_RESPONSE: "UNEXPECTED_SERVER_RESPONSE";
  static readonly UNIQUE_FIELD_ERROR: "UNIQUE_FIELD_ERROR";
  static readonly UNKNOWN_ERROR: "UNKNOWN_ERROR";
  static readonly VALIDATING_REFERENCE_ERROR: "VALIDATING_REFERENCE_ERROR";
  static readonly ZONE_NOT_FOUND: "ZONE_NOT_FOUND";
}
