// Names in the order people expect: node-2 before node-10.
export const ORDER = new Intl.Collator("en", {numeric: true});
