// The buttons to sign in and out.

const buttonTexts = {
  en: ["Sign in", "Sign out"], de: ["Anmelden", "Abmelden"], es: ["Iniciar sesión", "Cerrar sesión"],
  fr: ["Se connecter", "Se déconnecter"], it: ["Accedi", "Esci"], ja: ["サインイン", "サインアウト"],
};

/** @param {string | undefined} locale @returns {string[]} the texts of both buttons */
const textsOf = (locale) => {
  const [language] = String(locale ?? "en").toLowerCase().split(/[-_]/);
  return Object.hasOwn(buttonTexts, language) ? buttonTexts[language] : buttonTexts.en;
};

/**
 * Shows a button as the only child of an element, if the page has the element.
 * @param {any} options `id` of the element, and `theme` @param {string} text @param {() => void} whenClicked
 */
function showButton(options, text, whenClicked) {
  const element = document.getElementById(options.id);
  if (!element) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "apple-auth-button";
  button.textContent = text;
  const [colour, background] = options.theme === "black" ? ["#fff", "#000"] : ["#000", "#fff"];
  const border = options.theme === "white" ? "#fff" : "#000";
  Object.assign(button.style, {
    font: "inherit", padding: "0.4em 1em", borderRadius: "0.4em", cursor: "pointer", color: colour, background,
    border: `1px solid ${border}`,
  });
  button.addEventListener("click", whenClicked);
  element.replaceChildren(button);
}

/** @param {any} options */
function hideButton(options) { document.getElementById(options.id)?.replaceChildren(); }
