// The schema's text as values. The server's export has one declaration a line.

const options = ["QUERYABLE", "SORTABLE", "SEARCHABLE"];

const unquoted = (name) => name.replace(/^"|"$/g, "");

function field(line) {
  const [, name, rest] = line.match(/^("[^"]+"|\S+)\s+(.*)$/) ?? [];
  if (!name) return null;
  const words = rest.split(/\s+/);
  return { name: unquoted(name), type: words.filter((word) => !options.includes(word)).join(" "),
    indexes: words.filter((word) => options.includes(word)) };
}

/** The record types of a schema, by name: each has `fields` by name, and `rest`, its grants and composite indexes. */
export function recordTypes(text) {
  const types = new Map();
  let type = null;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    const begin = line.match(/^RECORD TYPE ("[^"]+"|\S+) \($/);
    if (begin) types.set(unquoted(begin[1]), type = { fields: new Map(), rest: [] });
    else if (line === ");") type = null;
    else if (type && /^(GRANT\b|\/\/|--)/.test(line)) type.rest.push(line.replace(/,$/, ""));
    else if (type && line) {
      const found = field(line.replace(/,$/, ""));
      if (found) type.fields.set(found.name, found);
    }
  }
  return types;
}
