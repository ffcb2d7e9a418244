/* A plugin for OpenIPMI's ipmi_sim: answers DCMI "Get Power Reading", which the simulator itself does not know.
 *
 *   lan.conf:  loadlib "/path/dcmi_plugin.so" "/path/dcmi.value"
 *
 * The value file holds "current minimum maximum average period_ms active completion_code" in decimal and is read again at
 * every request. The few declarations below match the binary interface of ipmi_sim 2.0.33 to 2.0.36, so that no development
 * headers are needed.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct mc mc_t;
typedef struct sys sys_t;

typedef struct msg {
    void *source;
    int source_length;
    long oem_data;
    unsigned char channel;
    void *original_channel;
    unsigned char authtype;
    uint32_t sequence, session;
    union {
        struct { unsigned char *code; unsigned char code_data[16]; } rmcp;
        struct {
            unsigned char payload, encrypted, authenticated, iana[3];
            uint16_t payload_id;
            unsigned char *auth_data;
            unsigned int auth_length;
        } rmcpp;
    } framing;
    unsigned char netfn, responder_address, responder_lun, requester_address, requester_lun, requester_sequence, command;
    unsigned char *data;
    unsigned int length;
    uint32_t iana;
    struct msg *next;
} msg_t;

typedef void (*handler_t)(mc_t *, msg_t *, unsigned char *answer, unsigned int *length, void *);
extern void ipmi_emu_register_group_extension_handler(uint8_t group, handler_t, void *);

enum { GROUP_DCMI = 0xdc, POWER_READING = 0x02, UNKNOWN_COMMAND = 0xc1, NO_DATA = 0xcb };

static char value_path[4096];

static void put16(unsigned char *out, unsigned value) { out[0] = value; out[1] = value >> 8; }
static void put32(unsigned char *out, uint32_t value) { put16(out, value); put16(out + 2, value >> 16); }

static void answer_power(mc_t *mc, msg_t *msg, unsigned char *out, unsigned int *length, void *data)
{
    unsigned now = 0, low = 0, high = 0, mean = 0, period = 1000, active = 1, code = 0;
    FILE *file;

    (void)mc; (void)data;
    if (msg->command != POWER_READING) {
        out[0] = UNKNOWN_COMMAND;
        *length = 1;
        return;
    }
    file = fopen(value_path, "r");
    if (!file || fscanf(file, "%u %u %u %u %u %u %u", &now, &low, &high, &mean, &period, &active, &code) < 1)
        code = NO_DATA;
    if (file)
        fclose(file);
    out[0] = code;
    out[1] = GROUP_DCMI;
    if (code) {
        *length = 2;
        return;
    }
    put16(out + 2, now);
    put16(out + 4, low);
    put16(out + 6, high);
    put16(out + 8, mean);
    put32(out + 10, (uint32_t)time(NULL));
    put32(out + 14, period);
    out[18] = active ? 0x40 : 0;
    *length = 19;
}

int ipmi_sim_module_print_version(sys_t *sys, char *options) { (void)sys; (void)options; return 0; }

int ipmi_sim_module_init(sys_t *sys, const char *options)
{
    (void)sys;
    snprintf(value_path, sizeof value_path, "%s", options);
    ipmi_emu_register_group_extension_handler(GROUP_DCMI, answer_power, 0);
    return 0;
}

int ipmi_sim_module_post_init(sys_t *sys) { (void)sys; return 0; }
