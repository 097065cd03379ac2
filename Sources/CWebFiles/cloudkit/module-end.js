const { Promise: promiseConstructor, logToConsole } = CloudKit;
export const { configure, getAllContainers, getContainer, getDefaultContainer } = CloudKit;
export {
  CloudKit as default, AppleIDButtonTheme, BUILD_VERSION, CKError, CLOUDKIT_LOADED, DEVELOPMENT_ENVIRONMENT, DatabaseScope,
  CKNotification as Notification, PRODUCTION_ENVIRONMENT, QueryFilterComparator, QueryNotification, RecordZoneNotification,
  ReferenceAction, ShareParticipantAcceptanceStatus, ShareParticipantPermission, ShareParticipantType, ShareRecordType,
  SubscriptionType, VERSION, WS_API_VERSION, promiseConstructor as Promise, logToConsole,
};
