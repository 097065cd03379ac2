// Queries: the forms that apps use, and pages.

/** @param {any} query @returns {any} the query for the service */
function sentQuery(query) {
  if (!isDictionary(query) || typeof query.recordType !== "string") throw invalid("a query is a dictionary with 'recordType'");
  const { filterBy, sortBy } = query;
  return {
    recordType: query.recordType,
    ...(filterBy && { filterBy: list(filterBy).map(sentFilter) }), ...(sortBy && { sortBy: list(sortBy).map(sentSort) }),
  };
}

/** @param {any} filter */
function sentFilter(filter) {
  const comparator = filter?.comparator ?? (filter?.distance === undefined ? undefined : "NEAR");
  if (typeof comparator !== "string") throw invalid("a filter is a dictionary with 'comparator'");
  const name = filter.fieldName ?? filter.systemFieldName ?? comparator;
  return { ...filter, comparator, fieldValue: sentField(name, locationField(filter.fieldValue)) };
}

/** @param {any} sort */
function sentSort(sort) {
  if (!isDictionary(sort)) throw invalid("a sort descriptor is a dictionary with 'fieldName'");
  if (sort.relativeLocation === undefined) return sort;
  return { ...sort, relativeLocation: sentField("relativeLocation", locationField(sort.relativeLocation)) };
}

/** @param {any} value a field, or a bare location */
const locationField = (value) => (value?.latitude === undefined ? value : { value, type: "LOCATION" });

/**
 * @param {any} first a query, or the response with the previous page
 * @param {any} options those that are given win over the response's
 * @returns {any} the request
 */
function queryRequest(first, options) {
  const isPage = first?.isQueryResponse || isDictionary(first?.query);
  /** @type {any} */
  const request = isPage
    ? { ...first, ...options, query: first.query, continuationMarker: first.continuationMarker }
    : { ...options, query: first };
  const { query, zoneID, zoneWide, desiredKeys, resultsLimit, numbersAsStrings, continuationMarker } = request;
  if (isPage && !continuationMarker) throw invalid("there is no next page");
  return {
    query: sentQuery(query), zoneID: zoneWide && !options.zoneID ? undefined : zoneIDOf(zoneID),
    zoneWide: zoneWide && !options.zoneID ? true : undefined, desiredKeys: desiredKeys ?? undefined, resultsLimit,
    numbersAsStrings, continuationMarker: continuationMarker ?? undefined,
  };
}
