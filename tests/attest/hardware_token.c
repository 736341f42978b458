/* A FIDO token without hardware, for ssh-keygen's SSH_SK_PROVIDER: keys and signatures are made by
 * the program that REVIEWER_TOKEN names. (OpenSSH 9.x, sk-api.h; Ed25519 alone.) */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct enrolled {
	uint8_t flags;
	uint8_t *public_key;
	size_t public_key_len;
	uint8_t *key_handle;
	size_t key_handle_len;
	uint8_t *signature;
	size_t signature_len;
	uint8_t *attestation_cert;
	size_t attestation_cert_len;
	uint8_t *authdata;
	size_t authdata_len;
};

struct signed_message {
	uint8_t flags;
	uint32_t counter;
	uint8_t *sig_r;
	size_t sig_r_len;
	uint8_t *sig_s;
	size_t sig_s_len;
};

enum { ED25519 = 1, GENERAL = -1, UNSUPPORTED = -2, COUNTER = 7 };

/* Bytes that the program prints in hex when it is given this question and these bytes in hex. */
static int ask(const char *question, const char *application, uint8_t flags,
    const uint8_t *data, size_t len, uint8_t *answer, size_t wanted)
{
	const char *program = getenv("REVIEWER_TOKEN");
	size_t size = 256 + strlen(application) + 2 * len;
	char *command = malloc(size + (program ? strlen(program) : 0));
	unsigned value;
	size_t at;

	if (program == NULL || command == NULL)
		return GENERAL;
	at = sprintf(command, "%s %s '%s' %u ", program, question, application, flags);
	for (size_t i = 0; i < len; i++)
		at += sprintf(command + at, "%02x", data[i]);
	FILE *said = popen(command, "r");
	free(command);
	if (said == NULL)
		return GENERAL;
	for (at = 0; at < wanted && fscanf(said, "%2x", &value) == 1; at++)
		answer[at] = (uint8_t)value;
	return pclose(said) == 0 && at == wanted ? 0 : GENERAL;
}

uint32_t sk_api_version(void) { return 0x000a0000; }

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len,
    const char *application, uint8_t flags, const char *pin, void **options,
    struct enrolled **response)
{
	struct enrolled *made = calloc(1, sizeof(*made));

	(void)challenge, (void)challenge_len, (void)pin, (void)options;
	if (alg != ED25519)
		return UNSUPPORTED;
	made->flags = flags;
	made->public_key_len = 32;
	made->public_key = calloc(1, 32);
	made->key_handle_len = 4;
	made->key_handle = (uint8_t *)strdup("key");
	made->signature = calloc(1, made->signature_len = 64);
	made->attestation_cert = calloc(1, made->attestation_cert_len = 1);
	made->authdata = calloc(1, made->authdata_len = 1);
	*response = made;
	return ask("public", application, flags, NULL, 0, made->public_key, 32);
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application,
    const uint8_t *key_handle, size_t key_handle_len, uint8_t flags, const char *pin,
    void **options, struct signed_message **response)
{
	struct signed_message *made = calloc(1, sizeof(*made));

	(void)key_handle, (void)key_handle_len, (void)pin, (void)options;
	if (alg != ED25519)
		return UNSUPPORTED;
	made->flags = flags;
	made->counter = COUNTER;
	made->sig_r = calloc(1, made->sig_r_len = 64);
	*response = made;
	return ask("sign", application, flags, data, data_len, made->sig_r, 64);
}

int sk_load_resident_keys(const char *pin, void **options, void ***keys, size_t *count)
{
	(void)pin, (void)options, (void)keys, (void)count;
	return UNSUPPORTED;
}
