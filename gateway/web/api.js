// Calls to the gateway. The session is an HttpOnly cookie; its CSRF token lives in this variable.

import { language, t } from "./i18n.js";

let csrf = null;
let callId = 0;
let onSignedOut = () => {};

export class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export function whenSignedOut(run) {
  onSignedOut = run;
}

export async function session() {
  const response = await fetch("/web/session", { headers: { "Accept-Language": language() } });
  const found = await response.json();
  csrf = found.csrf;
  return found.me;
}

export async function signIn(login, password) {
  const entered = await rpc("auth.login", { login, password });
  csrf = entered.csrf;
  return entered.me;
}

export async function signOut() {
  await rpc("auth.logout").catch(() => {});
  csrf = null;
}

export async function rpc(method, params = {}) {
  const headers = { "Content-Type": "application/json", "Accept-Language": language() };
  if (csrf) headers["X-Shutten-CSRF"] = csrf;
  callId += 1;
  const body = JSON.stringify({ jsonrpc: "2.0", id: callId, method, params });
  let answer;
  try {
    const response = await fetch("/rpc", { method: "POST", headers, body });
    answer = await response.json();
  } catch {
    throw new Failure("unavailable", t("failed"));
  }
  if (answer.error) throw failure(answer.error, method);
  return answer.result;
}

export async function post(path, data) {
  const headers = { "Content-Type": "application/json", "Accept-Language": language(), "X-Shutten-CSRF": csrf ?? "" };
  let answer;
  try {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(data) });
    answer = await response.json();
  } catch {
    throw new Failure("unavailable", t("failed"));
  }
  if (answer.error) throw failure(answer.error, path);
  return answer;
}

// A picture as an address that an image can show; what failed says why.
export async function picture(path) {
  let response;
  try {
    response = await fetch(path, { headers: { "Accept-Language": language() } });
    if (response.ok) return await dataAddress(await response.blob());
  } catch {
    throw new Failure("unavailable", t("failed"));
  }
  const answer = await response.json().catch(() => ({}));
  throw answer.error ? failure(answer.error, path) : new Failure("unavailable", t("failed"));
}

function dataAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

function failure(error, method) {
  const code = error.data?.code ?? error.code;
  const isOver = code === "not_signed_in" || code === "origin_refused";
  if (isOver && method !== "auth.login") onSignedOut();
  return new Failure(code, error.data?.message ?? error.message);
}

export function upload(collectionId, files, onProgress, metadata = {}) {
  const form = new FormData();
  form.append("collection_id", collectionId); // first: it decides whether the rest is read
  if (Object.keys(metadata).length) form.append("metadata", JSON.stringify(metadata)); // before the files
  for (const file of files) form.append("file", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch tells nothing of an upload's progress
    request.open("POST", "/api/knowledge/upload");
    request.setRequestHeader("X-Shutten-CSRF", csrf ?? "");
    request.setRequestHeader("Accept-Language", language());
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) onProgress(Math.round((100 * event.loaded) / event.total));
    };
    request.onerror = () => reject(new Failure("unavailable", t("failed")));
    request.onload = () => {
      try {
        const answer = JSON.parse(request.responseText);
        if (answer.error) reject(failure(answer.error, "upload"));
        else resolve(answer.files);
      } catch {
        reject(new Failure("unavailable", t("failed")));
      }
    };
    request.send(form);
  });
}
