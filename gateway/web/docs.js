// Shows /openapi.json: every value goes in as text, never as markup.

const METHODS = ["get", "post", "put", "patch", "delete"];

function make(name, text, ...children) {
  const node = document.createElement(name);
  if (text !== null) node.textContent = text;
  node.append(...children);
  return node;
}

function referred(schema, told, seen = []) {
  // A schema with its references put in; one within itself stays a reference.
  if (Array.isArray(schema)) return schema.map((each) => referred(each, told, seen));
  if (schema === null || typeof schema !== "object") return schema;
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").pop();
    if (seen.includes(name)) return { $ref: schema.$ref };
    return referred(told.components.schemas[name] ?? {}, told, [...seen, name]);
  }
  const entries = Object.entries(schema);
  return Object.fromEntries(entries.map(([key, each]) => [key, referred(each, told, seen)]));
}

function schemaOf(content, told) {
  const [type, { schema }] = Object.entries(content)[0];
  const shown = JSON.stringify(referred(schema, told), null, 2);
  return [make("p", type), make("pre", shown)];
}

function details(operation, told) {
  const box = make("div", null);
  const keys = (operation.security ?? []).flatMap((each) => Object.keys(each));
  box.append(make("p", keys.length ? `Needs: ${keys.join(" or ")}` : "For anyone"));
  for (const each of operation.parameters ?? []) {
    const about = `${each.in} ${each.name}: ${each.description ?? ""}`;
    box.append(make("h3", about), make("pre", JSON.stringify(referred(each.schema, told), null, 2)));
  }
  if (operation.requestBody) {
    box.append(make("h3", "Request"), ...schemaOf(operation.requestBody.content, told));
  }
  for (const [status, answer] of Object.entries(operation.responses)) {
    box.append(make("h3", `${status} ${answer.description}`));
    if (status < "400" && answer.content) box.append(...schemaOf(answer.content, told));
  }
  return box;
}

function entry(path, method, operation, told) {
  const name = make("span", method.toUpperCase());
  name.className = "method";
  const head = make("summary", null, name, make("code", path), ` ${operation.summary}`);
  const node = make("details", null, head);
  node.dataset.words = `${method} ${path} ${operation.summary}`.toLowerCase();
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(details(operation, told));
  });
  return node;
}

function sections(told) {
  const found = new Map();
  for (const [path, methods] of Object.entries(told.paths)) {
    for (const method of METHODS) {
      const operation = methods[method];
      if (!operation) continue;
      const tag = operation.tags[0];
      if (!found.has(tag)) found.set(tag, make("section", null, make("h2", tag)));
      found.get(tag).append(entry(path, method, operation, told));
    }
  }
  return found.values();
}

function filter(words) {
  for (const section of document.querySelectorAll("section")) {
    let left = 0;
    for (const node of section.querySelectorAll("details")) {
      node.hidden = !node.dataset.words.includes(words.toLowerCase());
      left += node.hidden ? 0 : 1;
    }
    section.hidden = left === 0;
  }
}

const main = document.getElementById("operations");
const response = await fetch("/openapi.json");
if (response.ok) {
  const told = await response.json();
  document.getElementById("about").textContent = told.info.description;
  main.append(...sections(told));
  const field = document.getElementById("filter");
  field.addEventListener("input", () => filter(field.value.trim()));
} else {
  main.textContent = "/openapi.json could not be read.";
}
