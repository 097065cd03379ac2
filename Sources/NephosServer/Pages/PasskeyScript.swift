import FoundationEssentials
import NephosService

/// The script of pages with a form for a passkey. It asks the browser for the passkey that the form's attribute
/// `data-passkey` describes, fills the form and sends it. Without the script such a form is hidden.
enum PasskeyScript {
    static let path = "/passkeys.js"

    /// The answer of the script's route.
    static var response: HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                HTTPHeader("Content-Type", "text/javascript; charset=UTF-8"),
                HTTPHeader("X-Content-Type-Options", "nosniff"), HTTPHeader("Cache-Control", "no-cache"),
            ], body: Array(source.utf8))
    }

    /// The element that loads the script.
    static let element = "<script src=\"\(path)\" defer></script>"

    /// The source of scripts in the content security policy of pages with the element: this script alone.
    static func policy(_ page: OwnPage) -> String { page.routed.access.baseURL(page.routed.request) + path }

    /// Returns a form that the script shows.
    /// - Parameters:
    ///   - options: what the browser is asked for.
    ///   - fields: the names of the hidden fields that the script fills.
    static func form(
        _ page: OwnPage, action: String, _ options: some Encodable, fields: [String], _ content: String
    ) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = (try? encoder.encode(options)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let hidden = fields.map { "<input type=\"hidden\" name=\"\($0)\">" }.joined()
        return """
            <form method="post" hidden data-passkey="\(OwnPage.escaped(json))">\(page.formField)\
            <input type="hidden" name="action" value="\(action)">\(hidden)\(content)<p role="status"></p></form>
            """
    }

    /// Bytes are in base64url, as `btoa` has another alphabet. A page that is open for almost as long as its challenge is
    /// valid is loaded again.
    private static let source = """
        "use strict";
        const longest = \(Limits.passkeyChallengeLifetime - 20_000);
        const bytes = (text) =>
          Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
        const text = (buffer) =>
          btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
            .replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");

        function problem(error) {
          if (error.name === "InvalidStateError") return "This device has a passkey of the account already.";
          if (error.name === "NotAllowedError") return "No passkey was used.";
          return "The browser cannot use a passkey here: " + error.message;
        }

        async function ask(options) {
          options.challenge = bytes(options.challenge);
          if (!options.user) {
            const { rawId, response } = await navigator.credentials.get({ publicKey: options });
            return {
              credential: rawId, clientData: response.clientDataJSON, authenticatorData: response.authenticatorData,
              signature: response.signature, handle: response.userHandle ?? new ArrayBuffer(0),
            };
          }
          options.user.id = bytes(options.user.id);
          for (const known of options.excludeCredentials) known.id = bytes(known.id);
          const { response } = await navigator.credentials.create({ publicKey: options });
          return { clientData: response.clientDataJSON, authenticatorData: response.getAuthenticatorData() };
        }

        async function send(form) {
          const [status, button] = [form.querySelector("[role=status]"), form.querySelector("button")];
          if (performance.now() > longest) return location.replace(location.pathname + location.search);
          button.disabled = true;
          status.textContent = "";
          try {
            const answer = await ask(JSON.parse(form.dataset.passkey));
            for (const [name, value] of Object.entries(answer)) form.elements[name].value = text(value);
            if (form.elements.keep) form.elements.keep.value = document.querySelector("[name=keep]:checked") ? "on" : "";
            form.submit();
          } catch (error) {
            status.textContent = problem(error);
          }
          button.disabled = false;
        }

        if (window.PublicKeyCredential) {
          for (const form of document.querySelectorAll("form[data-passkey]")) {
            form.hidden = false;
            form.addEventListener("submit", (event) => {
              event.preventDefault();
              send(form);
            });
          }
        }

        """
}
