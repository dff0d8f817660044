"""One table of names and values: what is removed from records, what is hidden on a screen, and what stays."""

import pytest

from tui_host.settings.sensitivity import Place, Sensitivity, is_of_words, is_random, is_telling, sensitivity

NAMES: dict[tuple[Place, Sensitivity], str] = {
    ("setting", "remove"): """
        key token secret passwd password passphrase cookie cookie2 credential credentials authorization jwt csrf xsrf auth
        oauth oauth2 pwd pw pass cred creds bearer assertion signature sig sas pat ak sk apikey my_token x-jwt xAuth
        mycookie2 aCsrf aXsrf apiKey x.api.key X-API-KEY monkey client_secrets api-keys api-tokens access-keys
        account-keys auth-keys bearer-tokens client-keys refresh-tokens secret-keys security-tokens subscription-keys
        my-secrets passwords passwds passphrases jwts apiKeys-2 x-access-tokens my-api-keys my-security-keys cache-secret
        key-type-x mypassphrase mypassword mypasswd mycredential mycredentials myauthorization myjwt my_xsrf token-key
        myPw userSig xauth authkeys bearertokens secretkeys
    """,
    ("setting", "hide"): """
        keys tokens max_tokens keyboard photoauth author_name secretary total-tokens access-control-allow-credentials
        x-ratelimit-reset-token sec-websocket-key idempotency-key cache_key surrogate-keys public-key partition-token
        routing-key sort-key page_token next-token continuation-token cursor-token max-token token-type key-version
        key-mode token-status auth-scheme token-count token-usage key-limit token-remaining token-reset key-expires
        key-expiry token-ttl token-length token-url auth-uri auth-method token-info key-policy cookies bearers passwo
        tokenize api-keysmith next_page_tokens websocketkey my-cache-keys apikeysx key-info credentials-url
        keyx tokenx secretx passwx pwdx authx credentialx cookiex bearerx token-info x-ratelimit-key surrogate-key
    """,
    ("setting", "none"): """
        name team signature-input session otp k access license subscription state code ask sign patch mask sass past
        credo compass sp x y passe asks ooth sign-in-page
    """,
    ("header", "remove"): """
        authorization x-api-key cookie set-cookie mcp-session-id session sessionid csrf-thing x-csrftoken xsrfx x-csrf2
        cookie2 set-cookie2 x-xsrf-y
    """,
    ("header", "hide"): "sec-websocket-key access-control-allow-credentials x-keys x-tokens",
    ("header", "none"): "x-team sessions x-otp dpop x-license accept signature-input",
    ("query", "remove"): "api_key token csrf_token",
    ("query", "none"): "session session_id sessionid code state otp k access ticket q",
    ("variable", "remove"): """
        API_KEY API_KEYS KEY GH_PAT MYSQL_PWD SSHPASS DB_PASS APIKEY_PROD HF_TOKENS MYSECRETS PGPASSWORD A_PASSPHRASE
        MY_CREDENTIALS REDISCLI_AUTH AUTHX CONNECTION_STRING connectionstring tokenx mykeys PASS secretx passwx
        passphrasex credentialx PASS_1
    """,
    ("variable", "hide"): "KEYBOARD AUTHOR GIT_AUTHOR_NAME",
    ("variable", "none"): "NO_PROXY_BYPASS COMPASS SSH_ASKPASS PASSING HOME SESSION CONNECTION STRING",
}

LONG_KEYS = ["code", "code_verifier", "device_code", "ticket", "login_ticket", "sessionid", "session_id"]
KEY = "sk-0a1b2c3d4e5f60718293"
VALUES: dict[tuple[Place, str, str], Sensitivity] = {
    ("header", "X-Custom", f"Bearer {KEY}"): "remove",
    ("header", "X-Custom", "bearer  abcdefgh1 "): "remove",
    ("header", "X-Custom", "Bearer abcdefghijklmnop"): "remove",
    ("header", "X-Custom", "Bearer abcdefghijklmno"): "none",
    ("header", "X-Custom", "Bearer abcdef1"): "none",
    ("header", "X-Custom", "Basic dTpwYXNzd29yZA=="): "remove",
    ("header", "X-Custom", "Basic aB3dE5gH7jK9mN1p"): "remove",
    ("header", "X-Custom", "Basic knowledge"): "none",
    ("header", "X-Custom", "Basic bm90aGluZ2hlcmU="): "none",
    ("header", "X-Custom", "Basic dTpwOnBh."): "none",
    ("header", "X-Custom", f"Bearer {KEY} and more"): "none",
    ("header", "X-Custom", f"Nearer {KEY}"): "none",
    ("header", "x-ratelimit-reset-token", "Bearer realm-1"): "hide",
    **{("header", name, "123456"): "remove" for name in ("X-OTP", "X-TOTP", "X-HOTP")},
    ("header", "X-Passcode", "1a"): "remove",
    ("header", "dpop", "eyJ0eXA.1"): "remove",
    ("header", "X-OTP", "required"): "none",
    ("header", "X-OTP", "in 5 minutes"): "none",
    ("header", "X-OTP-State", "123456"): "none",
    **{("header", name, KEY): "remove" for name in ("X-License", "X-Licence", "X-Access", "X-Subscription", "k")},
    ("header", "X-License", "MIT-or-Apache-2-0-or-later"): "none",
    ("header", "X-License-Name", KEY): "none",
    ("header", "X-Team", KEY): "none",
    ("query", "session", KEY): "remove",
    ("query", "otp", "1"): "remove",
    ("query", "totp", "x"): "remove",
    ("query", "hotp", "123456"): "none",
    ("query", "my_otp", "123456"): "none",
    ("query", "OTP", "1"): "remove",
    **{("query", name, "a" * 20): "remove" for name in ("CODE", *LONG_KEYS)},
    ("query", "code", "a" * 19): "none",
    ("query", "state", "a" * 20): "none",
    ("query", "q", f"Bearer {KEY}"): "none",
    ("setting", "session", KEY): "none",
    ("setting", "otp", "123456"): "none",
    ("variable", "LICENSE", KEY): "none",
}


@pytest.mark.parametrize(("place", "level"), NAMES)
def test_a_name_alone_says_what_becomes_of_its_value(place: Place, level: Sensitivity) -> None:
    names = NAMES[place, level].split()
    assert {name: sensitivity(name, place=place) for name in names} == dict.fromkeys(names, level)


def test_a_value_decides_under_a_name_that_may_mean_anything() -> None:
    assert {row: sensitivity(row[1], row[2], row[0]) for row in VALUES} == VALUES


RANDOM = f"{KEY} aB3dE5gH7jK9mN1p 350909dabeaf44db480a04986d23d211 abcdefgh1ijklmno2pqrstuv QwErTyUiOpAsDfGh1"
ORDINARY = "short-1 correct-horse-battery uploads/v2/p1/image1 release-2024-11-22-final 1234567890123456"
OF_WORDS = {"horseBattery2024": True, "ABCD1abc": True, "ab123456": True, "abcde1": True, "": True}


def test_random_values_are_told_from_words() -> None:
    assert [value for value in RANDOM.split() if not is_random(value)] == []
    assert [value for value in ("", *ORDINARY.split()) if is_random(value)] == []
    assert {text: is_of_words(text) for text in OF_WORDS} == OF_WORDS
    assert not any(map(is_of_words, ("aBcDeF1g2H", "ab1cd2", "abc1")))
    assert [is_telling(value) for value in ("a" * 20, "a" * 19, "ü", "a1")] == [True, False, True, True]
